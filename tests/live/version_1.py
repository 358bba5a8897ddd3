"""The tables of stores of version 1, which had no hashes, as it made them."""

SQLITE = """
CREATE TABLE IF NOT EXISTS events (
  campaign TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN ('opened', 'decided', 'observed', 'revised', 'cancelled', 'expired', 'switched')),
  ref INTEGER,
  key TEXT,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (campaign, seq),
  FOREIGN KEY (campaign, ref) REFERENCES events (campaign, seq),
  CHECK (kind = 'decided' OR key IS NULL),
  CHECK ((kind IN ('observed', 'revised', 'cancelled', 'expired')) = (ref IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS one_decision_per_key ON events (campaign, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS settled_once ON events (campaign, ref) WHERE kind IN ('observed', 'cancelled');
CREATE UNIQUE INDEX IF NOT EXISTS expired_once ON events (campaign, ref) WHERE kind = 'expired';
CREATE INDEX IF NOT EXISTS about ON events (campaign, ref) WHERE ref IS NOT NULL;
CREATE INDEX IF NOT EXISTS rare ON events (campaign, kind, seq)
  WHERE kind IN ('opened', 'revised', 'cancelled', 'expired', 'switched');
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TABLE IF NOT EXISTS snapshots (
  campaign TEXT NOT NULL, mark TEXT NOT NULL, seq INTEGER NOT NULL, blob BLOB NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
) STRICT;
"""
POSTGRESQL = """
CREATE TABLE evenhand_events (
  campaign text COLLATE "C" NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  kind text NOT NULL CHECK (kind IN ('opened', 'decided', 'observed', 'revised', 'cancelled', 'expired', 'switched')),
  ref bigint,
  key text COLLATE "C",
  at bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (campaign, seq),
  FOREIGN KEY (campaign, ref) REFERENCES evenhand_events (campaign, seq),
  CHECK (kind = 'decided' OR key IS NULL),
  CHECK ((kind IN ('observed', 'revised', 'cancelled', 'expired')) = (ref IS NOT NULL))
);
CREATE UNIQUE INDEX evenhand_one_decision_per_key ON evenhand_events (campaign, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX evenhand_settled_once ON evenhand_events (campaign, ref) WHERE kind IN ('observed', 'cancelled');
CREATE UNIQUE INDEX evenhand_expired_once ON evenhand_events (campaign, ref) WHERE kind = 'expired';
CREATE INDEX evenhand_about ON evenhand_events (campaign, ref) WHERE ref IS NOT NULL;
CREATE FUNCTION evenhand_refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'append only' USING ERRCODE = 'integrity_constraint_violation'; END $$;
CREATE TRIGGER evenhand_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON evenhand_events
  FOR EACH STATEMENT EXECUTE FUNCTION evenhand_refuse();
CREATE TABLE evenhand_heads (campaign text COLLATE "C" PRIMARY KEY, last bigint NOT NULL, at bigint NOT NULL);
CREATE TABLE evenhand_snapshots (
  campaign text COLLATE "C" NOT NULL, mark text COLLATE "C" NOT NULL, seq bigint NOT NULL, blob bytea NOT NULL,
  PRIMARY KEY (campaign, mark, seq)
);
"""
