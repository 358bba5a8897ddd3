"""Rankings and allocations are solved by the goals that there are: nothing here is a special case anywhere else."""
