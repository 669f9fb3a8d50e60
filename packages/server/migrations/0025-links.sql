-- Acquirer links: the table of the host, several connections, keys and those that were exchanged; lanes of jobs.
ALTER TABLE acquirer_links ADD COLUMN dialect text NOT NULL DEFAULT 'iso1987-binary';
ALTER TABLE acquirer_links ADD COLUMN connections integer NOT NULL DEFAULT 1;
ALTER TABLE acquirer_links ADD COLUMN tpdu text;
ALTER TABLE acquirer_links ADD COLUMN zone_pin_key jsonb;
ALTER TABLE acquirer_links ADD COLUMN mac_key jsonb;
ALTER TABLE acquirer_links ADD COLUMN zone_master_key jsonb;

-- Keys that a host sent: the youngest of each use counts, the one before is still taken for a while.
CREATE TABLE acquirer_link_keys (
  organization_id uuid NOT NULL,
  acquirer_link_id uuid NOT NULL,
  usage text NOT NULL,
  number integer NOT NULL,
  key_ref text NOT NULL,
  check_value text NOT NULL,
  key_index text,
  -- What the link was set to when the key came: a new setting overrules it.
  configured_key_ref text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, acquirer_link_id, usage, number)
);

-- Jobs of one lane are begun in the order in which they were made; the lane of a repeat is its acquirer link.
-- The index holds what stops a lane alone: a message that the acquirer left without an answer.
ALTER TABLE jobs ADD COLUMN lane uuid;
CREATE INDEX jobs_stopped ON jobs (organization_id, lane, job_id) WHERE last_error = 'Unanswered';
