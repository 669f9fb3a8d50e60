// Determines whether a service is active at a device, with a bounded cache of a few seconds.
import { type DeviceServiceList, defined, throwProblem } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { createPreparedQueries, isUuid, lruCacheOptions } from '../../platform/index.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import {
  type DeviceActivationRecord,
  type DeviceServiceRecord,
  readDeviceServices,
  readServiceAtDevices,
} from './activation-sql.ts';
import { evaluateLevels, type LevelActivation } from './state-machine.ts';

const cachedDevicesMax = 10_000;
/** A change in another process becomes visible after at most this time; a local change at once. */
const cacheTtlMs = 5_000;

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

export type ActiveServices = {
  isActive(organizationId: string, logicalDeviceId: string, serviceId: string): Promise<boolean>;
  listActiveServices(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly ActiveService[]>;
  /**
   * Returns those devices at which a service with this name is active: one query, without the
   * cache.
   */
  findDevicesWithService(
    service: { readonly name: string; readonly domain: string },
    devices: readonly { readonly organizationId: string; readonly logicalDeviceId: string }[],
  ): Promise<ReadonlySet<string>>;
  /** Lists every service with its state at each level; the device must be in the caller's scope. */
  explainDeviceServices(scope: CallerScope, logicalDeviceId: string): Promise<DeviceServiceList>;
  /**
   * Clears the cache of one organisation after its change, or the whole cache without an argument.
   */
  clearCache(organizationId?: string): void;
};

const levelAliases = ['o', 'm', 's', 'd'] as const;
const levelsByAlias = {
  o: 'Organization',
  m: 'Merchant',
  s: 'Store',
  d: 'LogicalDevice',
} as const;

function toActivation(
  row: DeviceActivationRecord | DeviceServiceRecord,
  alias: (typeof levelAliases)[number],
): LevelActivation['activation'] {
  const activationId = row[`${alias}Id`];
  if (activationId === undefined) return undefined;
  const decidedAt = row[`${alias}Decided`];
  const coversAt = row[`${alias}Covers`];
  return {
    activationId,
    status: row[`${alias}Status`] as NonNullable<LevelActivation['activation']>['status'],
    ...defined({ decidedAt, coversAt }),
  };
}

function evaluateRow(
  row: DeviceActivationRecord | DeviceServiceRecord,
  organizationId: string,
  logicalDeviceId: string,
) {
  const entities = { o: organizationId, m: row.merchantId, s: row.storeId, d: logicalDeviceId };
  const createdAtByAlias = { o: 0, m: row.merchantAt, s: row.storeAt, d: row.deviceAt };
  const levelActivations = levelAliases.map((alias): LevelActivation => {
    const level = levelsByAlias[alias];
    const activation = toActivation(row, alias);
    const levelEntity = {
      level,
      entityId: entities[alias],
      createdAt: createdAtByAlias[alias],
    };
    return activation === undefined ? levelEntity : { ...levelEntity, activation };
  });
  return evaluateLevels(levelActivations);
}

/** @example const activeServices = createActiveServices({ database, clock, provisioning }); */
export function createActiveServices(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'provisioning'>,
): ActiveServices {
  const queries = createPreparedQueries(deps.database, 'catalog');
  const cache = new LRUCache<string, { until: number; services: Promise<ActiveService[]> }>(
    lruCacheOptions(cachedDevicesMax),
  );

  async function loadActiveServices(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<ActiveService[]> {
    const rows = await readDeviceServices(queries, organizationId, logicalDeviceId);
    return rows
      .filter((row) =>
        evaluateRow(row, organizationId, logicalDeviceId).every(({ active }) => active),
      )
      .map((row) => ({
        serviceId: row.serviceId,
        providerId: row.providerId,
        release: row.release,
        name: row.name,
        domain: row.domain,
        methods: row.methods ?? [],
        paymentTypes: row.paymentTypes ?? [],
      }));
  }

  async function listActiveServices(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly ActiveService[]> {
    const key = `${organizationId}|${logicalDeviceId}`;
    const now = deps.clock.now();
    const cached = cache.get(key);
    if (cached !== undefined && now < cached.until) return cached.services;
    const entry = {
      until: now + cacheTtlMs,
      services: loadActiveServices(organizationId, logicalDeviceId),
    };
    cache.set(key, entry);
    entry.services.catch(() => {
      if (cache.peek(key) === entry) cache.delete(key);
    });
    return entry.services;
  }

  return {
    listActiveServices,
    async isActive(organizationId, logicalDeviceId, serviceId) {
      const activeServices = await listActiveServices(organizationId, logicalDeviceId);
      return activeServices.some((service) => service.serviceId === serviceId);
    },
    async findDevicesWithService(service, devices) {
      if (devices.length === 0) return new Set();
      const rows = await readServiceAtDevices(queries, devices, service);
      const activeRows = rows.filter((row) =>
        evaluateRow(row, row.organizationId, row.logicalDeviceId).every((level) => level.active),
      );
      return new Set(activeRows.map(({ logicalDeviceId: id }) => id));
    },
    async explainDeviceServices(scope, logicalDeviceId) {
      const { deviceId = logicalDeviceId } = scope;
      if (!isUuid(logicalDeviceId) || deviceId !== logicalDeviceId) {
        throwProblem('device_not_found', 'No device that you may see has this identifier.');
      }
      const { view } = await deps.provisioning.logicalDevices.get(scope, logicalDeviceId);
      const { organizationId } = scope;
      const rows = await readDeviceServices(queries, organizationId, view.logicalDeviceId);
      const items = rows.map((row) => {
        const levels = evaluateRow(row, organizationId, view.logicalDeviceId).map(
          ({ level, entityId, active, activation }) => {
            const ownActivation = activation && {
              activationId: activation.activationId,
              status: activation.status,
            };
            return { level, entityId, active, ...ownActivation };
          },
        );
        const { serviceId, name, domain } = row;
        return { serviceId, name, domain, active: levels.every(({ active }) => active), levels };
      });
      return { items };
    },
    clearCache(organizationId) {
      if (organizationId === undefined) return cache.clear();
      for (const key of cache.keys()) {
        if (key.startsWith(`${organizationId}|`)) cache.delete(key);
      }
    },
  };
}
