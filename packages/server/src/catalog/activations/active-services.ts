// Determines whether a service is active at a device, with a bounded cache of a few seconds.
import { type DeviceServiceList, defined, throwProblem } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { lruCacheOptions } from '../../platform/index.ts';
import type { Scope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { isUuid } from '../infrastructure/request-checks.ts';
import { runPrepared } from '../infrastructure/statement-runner.ts';
import {
  readStanding,
  readStandingAt,
  type StandingAtRow,
  type StandingRow,
} from './activation-sql.ts';
import { type LevelFacts, standingOf } from './state-machine.ts';

const rememberedMax = 10_000;
/** A change in another process becomes visible after at most this time; a local change at once. */
const rememberedMs = 5_000;

/** A service that a device can use. */
export type ActiveService = {
  readonly serviceId: string;
  /** The organisation that provides it. */
  readonly providerId: string;
  /** The release in force. */
  readonly release: number;
  readonly name: string;
  readonly domain: string;
  readonly methods: readonly string[];
  readonly paymentTypes: readonly string[];
};

export type Standing = {
  isActive(organizationId: string, logicalDeviceId: string, serviceId: string): Promise<boolean>;
  activeServices(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly ActiveService[]>;
  /**
   * Returns those devices at which a service with this name is active: one query, without the
   * cache.
   */
  activeAt(
    service: { readonly name: string; readonly domain: string },
    devices: readonly { readonly organizationId: string; readonly logicalDeviceId: string }[],
  ): Promise<ReadonlySet<string>>;
  /** Lists every service with its state at each level; the device must be in the caller's scope. */
  explain(scope: Scope, logicalDeviceId: string): Promise<DeviceServiceList>;
  /**
   * Clears the cache of one organisation after its change, or the whole cache without an argument.
   */
  forget(organizationId?: string): void;
};

const heads = ['o', 'm', 's', 'd'] as const;
const names = {
  o: 'Organization',
  m: 'Merchant',
  s: 'Store',
  d: 'LogicalDevice',
} as const;

function ownOf(row: StandingAtRow | StandingRow, head: (typeof heads)[number]): LevelFacts['own'] {
  const activationId = row[`${head}_id`];
  if (activationId === null) return undefined;
  const decidedAt = row[`${head}_decided`]?.getTime();
  const coversAt = row[`${head}_covers`]?.getTime();
  return {
    activationId,
    status: row[`${head}_status`] as NonNullable<LevelFacts['own']>['status'],
    ...defined({ decidedAt, coversAt }),
  };
}

function levelsOf(
  row: StandingAtRow | StandingRow,
  organizationId: string,
  logicalDeviceId: string,
) {
  const entities = { o: organizationId, m: row.merchant_id, s: row.store_id, d: logicalDeviceId };
  const made = { o: 0, m: row.merchant_at, s: row.store_at, d: row.device_at };
  const facts = heads.map((head): LevelFacts => {
    const level = names[head];
    const own = ownOf(row, head);
    const place = { level, entityId: entities[head], madeAt: Number(made[head]) };
    return own === undefined ? place : { ...place, own };
  });
  return standingOf(facts);
}

/** @example const standing = createStanding({ database, clock, provisioning }); */
export function createStanding(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'provisioning'>,
): Standing {
  const run = runPrepared(deps.database);
  const remembered = new LRUCache<string, { until: number; found: Promise<ActiveService[]> }>(
    lruCacheOptions(rememberedMax),
  );

  async function load(organizationId: string, logicalDeviceId: string): Promise<ActiveService[]> {
    const rows = await readStanding(run, organizationId, logicalDeviceId);
    return rows
      .filter((row) => levelsOf(row, organizationId, logicalDeviceId).every(({ active }) => active))
      .map((row) => ({
        serviceId: row.service_id,
        providerId: row.provider_id,
        release: row.release,
        name: row.name,
        domain: row.domain,
        methods: row.methods ?? [],
        paymentTypes: row.payment_types ?? [],
      }));
  }

  async function activeServices(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly ActiveService[]> {
    const key = `${organizationId}|${logicalDeviceId}`;
    const now = deps.clock.now();
    const known = remembered.get(key);
    if (known !== undefined && now < known.until) return known.found;
    const entry = { until: now + rememberedMs, found: load(organizationId, logicalDeviceId) };
    remembered.set(key, entry);
    entry.found.catch(() => {
      if (remembered.peek(key) === entry) remembered.delete(key);
    });
    return entry.found;
  }

  return {
    activeServices,
    async isActive(organizationId, logicalDeviceId, serviceId) {
      const active = await activeServices(organizationId, logicalDeviceId);
      return active.some((service) => service.serviceId === serviceId);
    },
    async activeAt(service, devices) {
      if (devices.length === 0) return new Set();
      const rows = await readStandingAt(run, devices, service);
      const active = rows.filter((row) =>
        levelsOf(row, row.organization_id, row.logical_device_id).every((level) => level.active),
      );
      return new Set(active.map(({ logical_device_id: id }) => id));
    },
    async explain(scope, logicalDeviceId) {
      const { deviceId = logicalDeviceId } = scope;
      if (!isUuid(logicalDeviceId) || deviceId !== logicalDeviceId) {
        throwProblem('device_not_found', 'No device in your scope has this identifier.');
      }
      const { view } = await deps.provisioning.logicalDevices.get(scope, logicalDeviceId);
      const { organizationId } = scope;
      const rows = await readStanding(run, organizationId, view.logicalDeviceId);
      const items = rows.map((row) => {
        const levels = levelsOf(row, organizationId, view.logicalDeviceId).map(
          ({ level, entityId, active, own }) => {
            const decided = own && { activationId: own.activationId, status: own.status };
            return { level, entityId, active, ...decided };
          },
        );
        const { service_id: serviceId, name, domain } = row;
        return { serviceId, name, domain, active: levels.every(({ active }) => active), levels };
      });
      return { items };
    },
    forget(organizationId) {
      if (organizationId === undefined) return remembered.clear();
      for (const key of remembered.keys()) {
        if (key.startsWith(`${organizationId}|`)) remembered.delete(key);
      }
    },
  };
}
