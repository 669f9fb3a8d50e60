// Organisations: each is a tenant of its own.
import type { Organization } from '@switchyard/contract';
import { createResource, type Deps, type Kind, type Resource } from './resource.ts';
import { organizations } from './tables.ts';
import { commonMembers, viewOf } from './view.ts';

const kind: Kind<Organization> = {
  table: organizations,
  notFound: 'organization_not_found',
  idMember: 'organizationId',
  filters: {},
  dependants: [],
  toView: (row) =>
    viewOf(row, { ...commonMembers(row), parentOrganizationId: row['parent_organization_id'] }),
  columns: async (_run, _scope, input) => ({
    parent_organization_id: input['parentOrganizationId'] ?? null,
  }),
  readOnly: (row) => ({ parentOrganizationId: row['parent_organization_id'] ?? undefined }),
};

export const createOrganizations = (deps: Deps): Resource<Organization> =>
  createResource(deps, kind);
