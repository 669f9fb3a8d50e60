// Lists the state of a service at merchants, stores or devices below an entity.
import {
  defined,
  type ServicePlace,
  type ServiceStateList,
  throwProblem,
} from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import type { Scope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { isUuid, refuseDevices } from '../infrastructure/request-checks.ts';
import { type Run, runOn } from '../infrastructure/statement-runner.ts';
import { findService } from '../services/service-sql.ts';
import {
  type DecidedRow,
  decidedAt,
  listPlaces,
  type PlaceLevel,
  type PlaceRow,
} from './entity-state-sql.ts';
import { type LevelFacts, standingOf } from './state-machine.ts';

export type PlacesBelow = {
  readonly above: ServiceStateList['above'];
  readonly found: FoundPage<ServicePlace>;
};

/** The parent of the listed entities. */
type Under = { readonly merchantId?: string; readonly storeId?: string };

export type StandingBelow = (
  scope: Scope,
  serviceId: string,
  under: Under,
  page: PageRequest,
) => Promise<PlacesBelow>;

type Named = LevelFacts & { readonly name?: string };
type Decided = Omit<DecidedRow, 'entity_id'>;

function ownOf(row: Decided | undefined): Pick<LevelFacts, 'own'> {
  if (row === undefined || row.activation_id === null) return {};
  const { activation_id: activationId, status, decided_at, covers_at } = row;
  return {
    own: {
      activationId,
      status: status as NonNullable<LevelFacts['own']>['status'],
      ...(decided_at === null ? {} : { decidedAt: decided_at.getTime() }),
      ...(covers_at === null ? {} : { coversAt: covers_at.getTime() }),
    },
  };
}

function shown(
  { level, entityId, name, own }: Named,
  active: boolean,
): ServiceStateList['above'][0] {
  const decided = own && { activationId: own.activationId, status: own.status };
  return { level, entityId, ...defined({ name }), active, ...decided };
}

/** The levels above the listed entities, each within the scope of the caller. */
async function chainOf(
  provisioning: CatalogDeps['provisioning'],
  scope: Scope,
  { merchantId, storeId }: Under,
): Promise<Named[]> {
  const { organizationId } = scope;
  const top: Named = { level: 'Organization', entityId: organizationId, madeAt: 0 };
  const store =
    storeId === undefined ? undefined : (await provisioning.stores.get(scope, storeId)).view;
  const wanted = store?.merchantId ?? merchantId;
  if (wanted === undefined) return [top];
  const { view } = await provisioning.merchants.get(scope, wanted);
  const madeAt = Date.parse(view.createdAt);
  const { merchantId: entityId, name } = view;
  const chain: Named[] = [top, { level: 'Merchant', entityId, name, madeAt }];
  if (store === undefined) return chain;
  const last = { entityId: store.storeId, name: store.name, madeAt: Date.parse(store.createdAt) };
  return [...chain, { level: 'Store', ...last }];
}

const levels = ['Merchant', 'Store', 'LogicalDevice'] as const satisfies PlaceLevel[];

function itemOf(chain: readonly Named[], level: PlaceLevel, row: PlaceRow): ServicePlace {
  const { id: entityId, name } = row;
  const last = { level, entityId, name, madeAt: row.made_at.getTime(), ...ownOf(row) };
  const all = standingOf([...chain, last]);
  const isActive = all.at(-1)?.active === true;
  return { ...shown(last, isActive), name, usable: all.every(({ active }) => active) };
}

/** @example const below = createStandingBelow(deps); await below(scope, serviceId, { merchantId }, page); */
export function createStandingBelow({
  database,
  provisioning,
}: Pick<CatalogDeps, 'database' | 'provisioning'>): StandingBelow {
  async function demandService(run: Run, scope: Scope, serviceId: string): Promise<string> {
    const row = isUuid(serviceId)
      ? await findService(run, scope.organizationId, serviceId)
      : undefined;
    if (row !== undefined) return row.service_id;
    return throwProblem(
      'service_not_found',
      'The catalogue shows you no service of this identifier.',
    );
  }

  return async (scope, asked, under, page) => {
    refuseDevices(scope);
    const { organizationId, merchantId: onlyId } = scope;
    const run = runOn(database);
    const serviceId = await demandService(run, scope, asked);
    const bare = await chainOf(provisioning, scope, under);
    const ids = bare.map(({ entityId }) => entityId);
    const rows = await decidedAt(run, organizationId, serviceId, ids);
    const decided = new Map(rows.map((row) => [row.entity_id, row]));
    const chain = bare.map((each) => ({ ...each, ...ownOf(decided.get(each.entityId)) }));
    const level = levels[chain.length - 1] ?? 'LogicalDevice';
    const underId = ids.at(-1) ?? organizationId;
    const query = { organizationId, serviceId, level, underId };
    const places = await listPlaces(run, level === 'Merchant' ? { ...query, onlyId } : query, {
      ...page,
      limit: page.limit + 1,
    });
    const items = places.slice(0, page.limit).map((row) => itemOf(chain, level, row));
    const standing = standingOf(chain);
    const above = chain.map((each, at) => shown(each, standing[at]?.active === true));
    const next = places.length > page.limit ? items.at(-1)?.entityId : undefined;
    return { above, found: { items, next } };
  };
}
