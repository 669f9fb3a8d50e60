// Organisations: each is a tenant, and an organisation manages those below it.
import { type Organization, throwProblem } from '@switchyard/contract';
import { platformAuthor } from '../../audit/index.ts';
import { type Queries, withUnknownOutcome } from '../../platform/index.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { throwFieldProblem, throwNotFound } from '../resources/provisioning-errors.ts';
import type { ReferencedRows } from '../resources/referenced-rows.ts';
import type {
  RelatedDataHooks,
  ResourceDefinition,
  ResourceInput,
} from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import { createRowRepository, type Row } from '../resources/resource-sql.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import { acquirerLinks, merchants, organizations, physicalDevices } from '../resources/tables.ts';
import {
  countLevelsBelow,
  formatUuidArray,
  lockOrganizationTree,
  moveSubtree,
  organizationLevelsMax,
  readAncestorIds,
} from './organization-tree.ts';
import { openUserDomain, type UserDomains } from './user-domain-port.ts';

const records = createRowRepository(organizations);

type OrganizationDeps = ResourceDeps & { readonly userDomains: UserDomains };

const organizationIdOf = (row: Row): string => String(row['organization_id']);
const parentIdOf = (row: Row | undefined): string | undefined => {
  const parent = row?.['parent_organization_id'] ?? undefined;
  return parent === undefined ? undefined : String(parent);
};

/** The new parent that an input requests; undefined if the organisation does not move. */
function newParentId(input: ResourceInput, current: Row | undefined): string | undefined {
  const parentInput = input['parentOrganizationId'];
  if (parentInput === undefined) return undefined;
  const wantedId = String(parentInput).toLowerCase();
  return wantedId === parentIdOf(current) ? undefined : wantedId;
}

/** An organisation cannot change its own parent or status. */
function requireNoOwnChange(input: ResourceInput, current: Row): void {
  const detail = 'can be changed only by an organisation above this one';
  if (newParentId(input, current) !== undefined) {
    throwFieldProblem('/parentOrganizationId', detail, 'field_read_only');
  }
  const { status } = input;
  if (status !== undefined && status !== current['status']) {
    throwFieldProblem('/status', detail, 'field_read_only');
  }
  if (mayBeRequiredByParent(current) && input['approvalCodeRequired'] === false) {
    throwFieldProblem('/approvalCodeRequired', detail, 'field_read_only');
  }
}

/** True if an organisation above may have required approval codes. */
const mayBeRequiredByParent = (current: Row): boolean =>
  parentIdOf(current) !== undefined && current['approval_code_required'] === true;

/** The columns for a position below an organisation in the caller's scope. */
async function treeColumns(
  queries: Queries,
  scope: CallerScope,
  parentId: string,
  current: Row | undefined,
): Promise<Row> {
  const parent =
    (await records.find(queries, scope, parentId)) ?? throwNotFound('organization_not_found');
  const ancestorIds = [...readAncestorIds(parent), parentId];
  if (current !== undefined && ancestorIds.includes(organizationIdOf(current))) {
    throwFieldProblem(
      '/parentOrganizationId',
      'must not be the organisation itself or an organisation below it',
    );
  }
  const below = current === undefined ? 0 : await countLevelsBelow(queries, current);
  if (ancestorIds.length + 1 + below > organizationLevelsMax) {
    throwFieldProblem(
      '/parentOrganizationId',
      `would create more than ${organizationLevelsMax} levels`,
    );
  }
  if (current !== undefined) await moveSubtree(queries, current, ancestorIds);
  return { parent_organization_id: parentId, ancestor_ids: formatUuidArray(ancestorIds) };
}

async function toOrganizationColumns(
  { queries }: ReferencedRows,
  scope: CallerScope,
  input: ResourceInput,
  current: Row | undefined,
): Promise<Row> {
  const isOwn = current !== undefined && organizationIdOf(current) === scope.organizationId;
  if (isOwn) requireNoOwnChange(input, current);
  const parentId = newParentId(input, current);
  const treePosition =
    parentId === undefined ? {} : await treeColumns(queries, scope, parentId, current);
  return {
    approval_code_required:
      input['approvalCodeRequired'] ?? (isOwn && mayBeRequiredByParent(current)),
    ...treePosition,
    ...(isOwn ? { status: current['status'] } : {}),
  };
}

/** Creates and closes the user domain of an organisation, and records both in its audit. */
function createUserDomainHooks({ userDomains, audit }: OrganizationDeps): RelatedDataHooks {
  const recordDomainAudit = (
    trx: Queries,
    row: Row,
    done: string,
    id: string,
    scope?: CallerScope,
  ) =>
    audit.record(trx, {
      ...(scope?.author ?? platformAuthor),
      organizationId: organizationIdOf(row),
      action: `userDomain.${done}`,
      entity: { type: 'userDomain', id },
    });

  return {
    async onCreated(trx, row, input, scope) {
      if (input['userDomainId'] === undefined) return;
      const userDomainId = String(input['userDomainId']);
      await openUserDomain(userDomains, organizationIdOf(row), userDomainId, trx);
      await recordDomainAudit(trx, row, 'created', userDomainId, scope);
    },
    async onRemoved(trx, row, scope) {
      const userDomainId = await userDomains.close(organizationIdOf(row), trx);
      if (userDomainId !== undefined)
        await recordDomainAudit(trx, row, 'closed', userDomainId, scope);
    },
  };
}

const createOrganizationDefinition = (
  deps: OrganizationDeps,
): ResourceDefinition<Organization> => ({
  table: organizations,
  notFoundCode: 'organization_not_found',
  idMember: 'organizationId',
  filters: {
    parentOrganizationId: (value) => ({
      toSql: (placeholder) => `parent_organization_id = ${placeholder}`,
      value,
    }),
  },
  dependants: [
    {
      type: 'Organization',
      table: organizations,
      column: 'parent_organization_id',
      crossesTenants: true,
    },
    { type: 'Merchant', table: merchants, column: 'organization_id' },
    { type: 'PhysicalDevice', table: physicalDevices, column: 'organization_id' },
    { type: 'AcquirerLink', table: acquirerLinks, column: 'organization_id' },
  ],
  lock: (queries, { organizationId }) => lockOrganizationTree(queries, organizationId),
  relatedData: createUserDomainHooks(deps),
  toView: (row) =>
    toResourceView(row, {
      ...commonViewMembers(row),
      parentOrganizationId: parentIdOf(row),
      approvalCodeRequired: row['approval_code_required'],
    }),
  toColumns: toOrganizationColumns,
  readOnlyMembers: () => ({}),
});

/** The platform creates top organisations; API callers create organisations below their own. */
export function createOrganizations(deps: OrganizationDeps): ResourceOperations<Organization> {
  return createResourceOperations(deps, createOrganizationDefinition(deps));
}

/** The organisations of the API: with user domains, and always below the caller's organisation. */
export function createSubOrganizations(
  organizations: ResourceOperations<Organization>,
  userDomains: UserDomains,
): ResourceOperations<Organization> {
  async function addUserDomains(views: readonly Organization[]): Promise<Organization[]> {
    const domains = await userDomains.findByOrganizations(
      views.map(({ organizationId }) => organizationId),
    );
    return views.map((view) => {
      const userDomainId = domains.get(view.organizationId);
      return userDomainId === undefined ? view : { ...view, userDomainId };
    });
  }

  async function addUserDomain<VersionedOrganization extends { readonly view: Organization }>(
    versioned: VersionedOrganization,
  ) {
    const [view = versioned.view] = await addUserDomains([versioned.view]);
    return { ...versioned, view };
  }

  async function requireSameDomain(organizationId: string, { userDomainId }: ResourceInput) {
    if (userDomainId === undefined) return;
    if (userDomainId === (await userDomains.findByOrganization(organizationId))) return;
    throwFieldProblem('/userDomainId', 'is read-only', 'field_read_only');
  }

  return {
    ...organizations,
    async create(scope, input, id) {
      const parentOrganizationId = input['parentOrganizationId'] ?? scope.organizationId;
      const created = await organizations.create(scope, { ...input, parentOrganizationId }, id);
      return withUnknownOutcome(async () => {
        await userDomains.invalidate(created.view.organizationId);
        return addUserDomain(created);
      });
    },
    async list(scope, query, page) {
      const { items, next } = await organizations.list(scope, query, page);
      return { items: await addUserDomains(items), next };
    },
    get: async (scope, id) => addUserDomain(await organizations.get(scope, id)),
    async replace(scope, id, input, ifMatch) {
      const { view } = await organizations.get(scope, id);
      await requireSameDomain(view.organizationId, input);
      return addUserDomain(await organizations.replace(scope, id, input, ifMatch));
    },
    async remove(scope, id, ifMatch) {
      if (id.toLowerCase() === scope.organizationId) {
        throwProblem(
          'permission_denied',
          'An organisation can be removed only by an organisation above it.',
        );
      }
      await organizations.remove(scope, id, ifMatch);
      await userDomains.invalidate(id.toLowerCase());
    },
  };
}
