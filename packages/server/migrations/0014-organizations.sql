-- Organisations below organisations: where each one stands, its settings, and who changed it from above.

-- From the top down, without the organisation itself: below somebody is one look into an index, and
-- the way up is one row.
ALTER TABLE organizations ADD COLUMN ancestor_ids uuid[] NOT NULL DEFAULT '{}';
ALTER TABLE organizations ADD COLUMN approval_code_required boolean NOT NULL DEFAULT false;

WITH RECURSIVE tree AS (
  SELECT organization_id, '{}'::uuid[] AS ancestor_ids
  FROM organizations WHERE parent_organization_id IS NULL
  UNION ALL
  SELECT o.organization_id, t.ancestor_ids || t.organization_id
  FROM organizations o JOIN tree t ON o.parent_organization_id = t.organization_id
)
UPDATE organizations o SET ancestor_ids = t.ancestor_ids
FROM tree t
WHERE t.organization_id = o.organization_id AND cardinality(t.ancestor_ids) > 0;

CREATE INDEX organizations_below ON organizations USING gin (ancestor_ids);
CREATE INDEX organizations_parent ON organizations (parent_organization_id, organization_id)
  WHERE parent_organization_id IS NOT NULL;

-- Where somebody of an organisation above made the change.
ALTER TABLE audit_records ADD COLUMN actor_organization_id uuid;
