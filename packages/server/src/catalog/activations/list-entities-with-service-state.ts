// Lists the state of a service at merchants, stores or devices below an entity.
import {
  defined,
  type ServicePlace,
  type ServiceStateList,
  throwProblem,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import { isUuid, type Queries } from '../../platform/index.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { requireNonDeviceCaller } from '../infrastructure/request-checks.ts';
import { findService } from '../services/service-sql.ts';
import {
  type ChildLevel,
  type EntityActivationRecord,
  type EntityStateRecord,
  listEntityStates,
  readActivationsOfEntities,
} from './entity-state-sql.ts';
import { evaluateLevels, type LevelActivation } from './state-machine.ts';

export type ServiceStatePage = {
  readonly above: ServiceStateList['above'];
  readonly page: FoundPage<ServicePlace>;
};

/** The parent of the listed entities. */
type ParentEntity = { readonly merchantId?: string; readonly storeId?: string };

export type ListServiceStates = (
  scope: CallerScope,
  serviceId: string,
  parent: ParentEntity,
  page: PageRequest,
) => Promise<ServiceStatePage>;

type NamedLevel = LevelActivation & { readonly name?: string };
type OwnActivation = Omit<EntityActivationRecord, 'entityId'>;

function toActivation(own: OwnActivation | undefined): Pick<LevelActivation, 'activation'> {
  const { activationId, status, decidedAt, coversAt } = own ?? {};
  if (activationId === undefined || status === undefined) return {};
  return { activation: { activationId, status, ...defined({ decidedAt, coversAt }) } };
}

function toLevelView(
  { level, entityId, name, activation }: NamedLevel,
  active: boolean,
): ServiceStateList['above'][0] {
  const ownActivation = activation && {
    activationId: activation.activationId,
    status: activation.status,
  };
  return { level, entityId, ...defined({ name }), active, ...ownActivation };
}

/** The levels above the listed entities, each within the scope of the caller. */
async function findLevelsAbove(
  provisioning: CatalogDeps['provisioning'],
  scope: CallerScope,
  { merchantId, storeId }: ParentEntity,
): Promise<NamedLevel[]> {
  const { organizationId } = scope;
  const organizationLevel: NamedLevel = {
    level: 'Organization',
    entityId: organizationId,
    createdAt: 0,
  };
  const store =
    storeId === undefined ? undefined : (await provisioning.stores.get(scope, storeId)).view;
  const wantedMerchantId = store?.merchantId ?? merchantId;
  if (wantedMerchantId === undefined) return [organizationLevel];
  const { view } = await provisioning.merchants.get(scope, wantedMerchantId);
  const createdAt = Date.parse(view.createdAt);
  const { merchantId: entityId, name } = view;
  const levels: NamedLevel[] = [
    organizationLevel,
    { level: 'Merchant', entityId, name, createdAt },
  ];
  if (store === undefined) return levels;
  const storeLevel = {
    entityId: store.storeId,
    name: store.name,
    createdAt: Date.parse(store.createdAt),
  };
  return [...levels, { level: 'Store', ...storeLevel }];
}

const childLevels = ['Merchant', 'Store', 'LogicalDevice'] as const satisfies ChildLevel[];

function toServicePlace(
  levelsAbove: readonly NamedLevel[],
  level: ChildLevel,
  row: EntityStateRecord,
): ServicePlace {
  const { id: entityId, name } = row;
  const childLevel = {
    level,
    entityId,
    name,
    createdAt: row.madeAt,
    ...toActivation(row),
  };
  const evaluated = evaluateLevels([...levelsAbove, childLevel]);
  const isActive = evaluated.at(-1)?.active === true;
  return {
    ...toLevelView(childLevel, isActive),
    name,
    usable: evaluated.every(({ active }) => active),
  };
}

/** @example const listServiceStates = createServiceStateList(deps); await listServiceStates(scope, serviceId, { merchantId }, page); */
export function createServiceStateList({
  database,
  provisioning,
}: Pick<CatalogDeps, 'database' | 'provisioning'>): ListServiceStates {
  async function requireService(
    queries: Queries,
    scope: CallerScope,
    serviceId: string,
  ): Promise<string> {
    const row = isUuid(serviceId)
      ? await findService(queries, scope.organizationId, serviceId)
      : undefined;
    if (row !== undefined) return row.serviceId;
    return throwProblem('service_not_found', 'No service that you may see has this identifier.');
  }

  return async (scope, requestedServiceId, parent, page) => {
    requireNonDeviceCaller(scope);
    const { organizationId, merchantId: onlyId } = scope;
    const serviceId = await requireService(database, scope, requestedServiceId);
    const parentLevels = await findLevelsAbove(provisioning, scope, parent);
    const ids = parentLevels.map(({ entityId }) => entityId);
    const rows = await readActivationsOfEntities(database, organizationId, serviceId, ids);
    const activationsByEntity = new Map(rows.map((row) => [row.entityId, row]));
    const levelsAbove = parentLevels.map((each) => ({
      ...each,
      ...toActivation(activationsByEntity.get(each.entityId)),
    }));
    const level = childLevels[levelsAbove.length - 1] ?? 'LogicalDevice';
    const parentId = ids.at(-1) ?? organizationId;
    const children = { organizationId, serviceId, level, parentId };
    const query = level === 'Merchant' ? { ...children, onlyId } : children;
    const places = await readPage(
      page,
      (read) => listEntityStates(database, query, read),
      ({ id }) => id,
      (row) => toServicePlace(levelsAbove, level, row),
    );
    const evaluated = evaluateLevels(levelsAbove);
    const above = levelsAbove.map((each, at) => toLevelView(each, evaluated[at]?.active === true));
    return { above, page: places };
  };
}
