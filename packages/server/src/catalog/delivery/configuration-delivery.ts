// Delivers configurations to devices, records acknowledgements, and shows which devices are behind.
import {
  type AcknowledgedConfiguration,
  type ConfigurationKeyList,
  type DeviceAcknowledgement,
  type DeviceConfigurationDocument,
  type DeviceDelivery,
  defined,
  type FleetDelivery,
  throwProblem,
} from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import {
  type Clock,
  createGroupCommit,
  createSigningKey,
  type Database,
  isoTime,
  lruCacheOptions,
  redactText,
} from '../../platform/index.ts';
import type { FoundDevice, Provisioning } from '../../provisioning/index.ts';
import type { ForDevice } from '../configuration/device-configuration.ts';
import type { Scope } from '../infrastructure/caller-scope.ts';
import { isUuid, refuseDevices, refuseField } from '../infrastructure/request-checks.ts';
import { runOn, runPrepared } from '../infrastructure/statement-runner.ts';
import {
  type DeliveryRow,
  deliveryView,
  type FleetQuery,
  findDelivery,
  keepKey,
  listFleet,
  noteSaid,
  noteTold,
  olderKeys,
  type Told,
} from './delivery-sql.ts';
import {
  createWantedFinder,
  type Found,
  type Known,
  type WantedFinder,
} from './desired-configuration.ts';
import { documentOf } from './device-document.ts';

/**
 * The server records repeated requests of a device at this interval, and after a change at once.
 */
const askedEveryMs = 10 * 60_000;
const askedMax = 100_000;

export type DeliveryDeps = {
  readonly database: Database;
  readonly clock: Clock;
  /** 32 bytes; the server derives the signing key from it. */
  readonly masterKey: Buffer;
  readonly provisioning: Pick<Provisioning, 'findDevice' | 'merchants' | 'logicalDevices'>;
  readonly configuration: Pick<ForDevice, 'forDevice' | 'versionsFor'>;
};

export type Delivery = {
  /** Returns the version, and the document if the client does not hold that version. */
  read(
    scope: Scope,
    holds: (version: string) => boolean,
  ): Promise<{ version: string; document?: DeviceConfigurationDocument }>;
  acknowledge(scope: Scope, said: DeviceAcknowledgement): Promise<AcknowledgedConfiguration>;
  get(scope: Scope, logicalDeviceId: string): Promise<DeviceDelivery>;
  list(scope: Scope, query: FleetQuery, page: PageRequest): Promise<FoundPage<FleetDelivery>>;
  keys(): Promise<ConfigurationKeyList>;
};

function statusOf(row: DeliveryRow | undefined, version: string): DeviceDelivery['status'] {
  if (row?.applied_version === version) return 'Applied';
  return row?.failed_version === version ? 'Failed' : 'Pending';
}

function servicesOf({ services, current }: Found, row: DeliveryRow | undefined) {
  const whole = statusOf(row, current.version);
  return services.map(({ serviceId, name, values }): DeviceDelivery['services'][number] => {
    const version = String(current.versions[serviceId]);
    const appliedVersion = row?.applied_services?.[serviceId];
    const isApplied = whole === 'Applied' || appliedVersion === version;
    const status = isApplied ? 'Applied' : whole;
    const applied = defined({ appliedVersion });
    return { serviceId, name, status: values === undefined ? 'Held' : status, version, ...applied };
  });
}

/** @example const delivery = createDelivery(deps); const { version } = await delivery.read(scope, () => false); */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const wanted = createWantedFinder(deps);
  return { ...createDeviceSide(deps, wanted), ...createFleetSide(deps, wanted) };
}

function createDeviceSide(
  deps: DeliveryDeps,
  wanted: WantedFinder,
): Pick<Delivery, 'read' | 'acknowledge' | 'keys'> {
  const { database, clock, provisioning } = deps;
  const run = runPrepared(database);
  const key = createSigningKey(deps.masterKey, 'device configuration');
  const asked = new LRUCache<string, { basis: string; at: number }>(lruCacheOptions(askedMax));
  const told = createGroupCommit<Told, void>({
    name: 'device configuration',
    key: ({ organizationId, logicalDeviceId }) => `${organizationId}|${logicalDeviceId}`,
    async run(rows) {
      await noteTold(run, rows, isoTime(clock.now()));
      return rows.map(() => undefined);
    },
  });
  let keeping: Promise<void> | undefined;

  async function keep(): Promise<void> {
    keeping ??= keepKey(run, key.key, isoTime(clock.now()));
    try {
      await keeping;
    } catch (error) {
      keeping = undefined;
      throw error;
    }
  }

  /** A disabled device, or a caller that is no device, gets the same error as an unknown device. */
  async function own({ organizationId, merchantId, deviceId = '' }: Scope): Promise<FoundDevice> {
    const device = isUuid(deviceId)
      ? await provisioning.findDevice(organizationId, merchantId, deviceId)
      : undefined;
    if (device !== undefined) return device;
    return throwProblem('device_not_found', 'The token belongs to no device that is enabled.');
  }

  async function note(organizationId: string, device: FoundDevice, found: Known): Promise<void> {
    const { logicalDeviceId } = device;
    const name = `${organizationId}|${logicalDeviceId}`;
    const now = clock.now();
    const last = asked.get(name);
    if (last?.basis === found.basis && now - last.at < askedEveryMs) return;
    await told.submit({ organizationId, logicalDeviceId, ...found.current });
    asked.set(name, { basis: found.basis, at: now });
  }

  return {
    async read(scope, holds) {
      const { organizationId } = scope;
      const device = await own(scope);
      const known = await wanted.known(organizationId, device);
      if (known !== undefined && holds(known.current.version)) {
        await note(organizationId, device, known);
        return { version: known.current.version };
      }
      const found = await wanted.find(organizationId, device);
      await note(organizationId, device, found);
      const { services, current } = found;
      if (holds(current.version)) return { version: current.version };
      await keep();
      const document = documentOf(key, device.logicalDeviceId, services, current);
      return { version: current.version, document };
    },

    async acknowledge(scope, said) {
      const { organizationId } = scope;
      if (said.applied && said.reason !== undefined) {
        refuseField('/reason', 'goes with a version that was not applied');
      }
      const device = await own(scope);
      const { logicalDeviceId } = device;
      const found = await wanted.find(organizationId, device);
      const isCurrent = said.version === found.current.version;
      if (isCurrent) await note(organizationId, device, found);
      const row = isCurrent ? undefined : await findDelivery(run, organizationId, logicalDeviceId);
      const versions = row?.told_version === said.version ? row.told_services : undefined;
      const meant = isCurrent ? found.current.versions : versions;
      if (meant === undefined) return refuseField('/version', 'was not told to this device');
      const now = isoTime(clock.now());
      // A faulty device may send any text as its reason.
      const reason = said.reason === undefined ? {} : { reason: redactText(said.reason) };
      const kept = { ...said, ...reason };
      await noteSaid(run, { organizationId, logicalDeviceId }, kept, { versions: meant, now });
      return { ...kept, logicalDeviceId, acknowledgedAt: now };
    },

    async keys() {
      return { keys: [key.key, ...(await olderKeys(run, key.key.kid))] };
    },
  };
}

function createFleetSide(deps: DeliveryDeps, wanted: WantedFinder): Pick<Delivery, 'get' | 'list'> {
  const { database, provisioning } = deps;
  const run = runOn(database);

  return {
    async get(scope, id) {
      refuseDevices(scope);
      if (!isUuid(id))
        throwProblem('device_not_found', 'No device in your scope has this identifier.');
      const { view } = await provisioning.logicalDevices.get(scope, id);
      const { logicalDeviceId } = view;
      const found = await wanted.find(scope.organizationId, view);
      const row = await findDelivery(run, scope.organizationId, logicalDeviceId);
      const { version } = found.current;
      return {
        logicalDeviceId,
        status: statusOf(row, version),
        version,
        ...(row === undefined ? {} : deliveryView(row)),
        services: servicesOf(found, row),
      };
    },

    async list(scope, query, page) {
      refuseDevices(scope);
      const { organizationId, merchantId = query.merchantId } = scope;
      if ((query.merchantId ?? merchantId) !== merchantId) return { items: [] };
      const narrowed = { ...query, ...defined({ merchantId }) };
      const { rows, next } = await listFleet(run, organizationId, narrowed, page);
      const items = rows.map((row) => ({
        logicalDeviceId: row.logical_device_id,
        storeId: row.store_id,
        merchantId: row.merchant_id,
        status: row.delivery_status,
        ...deliveryView(row),
      }));
      return { items, next };
    },
  };
}
