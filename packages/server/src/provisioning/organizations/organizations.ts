// Organisations: each is a tenant, and an organisation manages those below it.
import { type Organization, throwProblem } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { platformAuthor } from '../../audit/index.ts';
import { withUnknownOutcome } from '../../platform/index.ts';
import type { Scope } from '../resources/caller-scope.ts';
import { refuseField, refuseUnknown } from '../resources/provisioning-errors.ts';
import type { Lookup } from '../resources/referenced-rows.ts';
import type { Beside, Input, Kind } from '../resources/resource-definition.ts';
import { createResource, type Deps, type Resource } from '../resources/resource-operations.ts';
import { createRecords, type Row, type Run } from '../resources/resource-sql.ts';
import { commonMembers, viewOf } from '../resources/resource-view.ts';
import { acquirerLinks, merchants, organizations, physicalDevices } from '../resources/tables.ts';
import {
  ancestorsIn,
  holdTree,
  levelsBelow,
  moveBelow,
  organizationLevelsMax,
  uuidsText,
} from './organization-tree.ts';
import { openDomain, type UserDomains } from './user-domains.ts';

const records = createRecords(organizations);

type Given = Deps & { readonly userDomains: UserDomains };

const idOf = (row: Row): string => String(row['organization_id']);
const parentOf = (row: Row | undefined): string | undefined => {
  const parent = row?.['parent_organization_id'] ?? undefined;
  return parent === undefined ? undefined : String(parent);
};

/** The new parent that an input requests; undefined if the organisation does not move. */
function wantedParent(input: Input, current: Row | undefined): string | undefined {
  const named = input['parentOrganizationId'];
  if (named === undefined) return undefined;
  const wanted = String(named).toLowerCase();
  return wanted === parentOf(current) ? undefined : wanted;
}

/** An organisation cannot change its own parent or status. */
function refuseOwnChanges(input: Input, current: Row): void {
  const detail = 'is changed by an organisation above alone';
  if (wantedParent(input, current) !== undefined) {
    refuseField('/parentOrganizationId', detail, 'field_read_only');
  }
  const { status } = input;
  if (status !== undefined && status !== current['status']) {
    refuseField('/status', detail, 'field_read_only');
  }
  if (isHeld(current) && input['approvalCodeRequired'] === false) {
    refuseField('/approvalCodeRequired', detail, 'field_read_only');
  }
}

/** True if an organisation above may have required approval codes. */
const isHeld = (current: Row): boolean =>
  parentOf(current) !== undefined && current['approval_code_required'] === true;

/** The columns for a position below an organisation in the caller's scope. */
async function placeColumns(
  run: Run,
  scope: Scope,
  parentId: string,
  current: Row | undefined,
): Promise<Row> {
  const parent =
    (await records.find(run, scope, parentId)) ?? refuseUnknown('organization_not_found');
  const ancestorIds = [...ancestorsIn(parent), parentId];
  if (current !== undefined && ancestorIds.includes(idOf(current))) {
    refuseField('/parentOrganizationId', 'is the organisation itself, or below it');
  }
  const below = current === undefined ? 0 : await levelsBelow(run, current);
  if (ancestorIds.length + 1 + below > organizationLevelsMax) {
    refuseField('/parentOrganizationId', `would make more than ${organizationLevelsMax} levels`);
  }
  if (current !== undefined) await moveBelow(run, current, ancestorIds);
  return { parent_organization_id: parentId, ancestor_ids: uuidsText(ancestorIds) };
}

async function columnsOf(
  { run }: Lookup,
  scope: Scope,
  input: Input,
  current: Row | undefined,
): Promise<Row> {
  const isOwn = current !== undefined && idOf(current) === scope.organizationId;
  if (isOwn) refuseOwnChanges(input, current);
  const parentId = wantedParent(input, current);
  const place = parentId === undefined ? {} : await placeColumns(run, scope, parentId, current);
  return {
    approval_code_required: input['approvalCodeRequired'] ?? (isOwn && isHeld(current)),
    ...place,
    ...(isOwn ? { status: current['status'] } : {}),
  };
}

/** Creates and closes the user domain of an organisation, and records both in its audit. */
function createDomains({ userDomains, audit }: Given): Beside {
  const tell = (trx: Kysely<unknown>, row: Row, done: string, id: string, scope?: Scope) =>
    audit.record(trx, {
      ...(scope?.author ?? platformAuthor),
      organizationId: idOf(row),
      action: `userDomain.${done}`,
      entity: { type: 'userDomain', id },
    });

  return {
    async created(trx, row, input, scope) {
      if (input['userDomainId'] === undefined) return;
      const userDomainId = String(input['userDomainId']);
      await openDomain(userDomains, idOf(row), userDomainId, trx);
      await tell(trx, row, 'created', userDomainId, scope);
    },
    async removed(trx, row, scope) {
      const userDomainId = await userDomains.close(idOf(row), trx);
      if (userDomainId !== undefined) await tell(trx, row, 'closed', userDomainId, scope);
    },
  };
}

const kindOf = (given: Given): Kind<Organization> => ({
  table: organizations,
  notFound: 'organization_not_found',
  idMember: 'organizationId',
  filters: {
    parentOrganizationId: (value) => ({
      of: (placeholder) => `parent_organization_id = ${placeholder}`,
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
  hold: (run, { organizationId }) => holdTree(run, organizationId),
  beside: createDomains(given),
  toView: (row) =>
    viewOf(row, {
      ...commonMembers(row),
      parentOrganizationId: parentOf(row),
      approvalCodeRequired: row['approval_code_required'],
    }),
  columns: columnsOf,
  readOnly: () => ({}),
});

/** The platform creates top organisations; API callers create organisations below their own. */
export function createOrganizations(given: Given): Resource<Organization> {
  return createResource(given, kindOf(given));
}

/** The organisations of the API: with user domains, and always below the caller's organisation. */
export function createOrganizationsBelow(
  own: Resource<Organization>,
  userDomains: UserDomains,
): Resource<Organization> {
  async function withDomains(views: readonly Organization[]): Promise<Organization[]> {
    const domains = await userDomains.ofAll(views.map(({ organizationId }) => organizationId));
    return views.map((view) => {
      const userDomainId = domains.get(view.organizationId);
      return userDomainId === undefined ? view : { ...view, userDomainId };
    });
  }

  async function withDomain<Found extends { readonly view: Organization }>(found: Found) {
    const [view = found.view] = await withDomains([found.view]);
    return { ...found, view };
  }

  async function refuseOtherDomain(organizationId: string, { userDomainId }: Input) {
    if (userDomainId === undefined) return;
    if (userDomainId === (await userDomains.of(organizationId))) return;
    refuseField('/userDomainId', 'is read-only', 'field_read_only');
  }

  return {
    ...own,
    async create(scope, input, id) {
      const parentOrganizationId = input['parentOrganizationId'] ?? scope.organizationId;
      const made = await own.create(scope, { ...input, parentOrganizationId }, id);
      return withUnknownOutcome(async () => {
        await userDomains.changed(made.view.organizationId);
        return withDomain(made);
      });
    },
    async list(scope, query, page) {
      const { items, next } = await own.list(scope, query, page);
      return { items: await withDomains(items), next };
    },
    get: async (scope, id) => withDomain(await own.get(scope, id)),
    async replace(scope, id, input, ifMatch) {
      const { view } = await own.get(scope, id);
      await refuseOtherDomain(view.organizationId, input);
      return withDomain(await own.replace(scope, id, input, ifMatch));
    },
    async remove(scope, id, ifMatch) {
      if (id.toLowerCase() === scope.organizationId) {
        throwProblem('permission_denied', 'An organisation is removed by one above it alone.');
      }
      await own.remove(scope, id, ifMatch);
      await userDomains.changed(id.toLowerCase());
    },
  };
}
