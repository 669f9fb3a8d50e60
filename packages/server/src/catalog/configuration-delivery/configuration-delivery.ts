// Delivers configurations to devices, records acknowledgements, and shows which devices are behind.
import {
  type AcknowledgedConfiguration,
  type ConfigurationKeyList,
  type DeviceAcknowledgement,
  type DeviceConfigurationDocument,
  type DeviceDelivery,
  defined,
  type FleetDeviceDelivery,
  throwProblem,
} from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import {
  type Clock,
  createGroupCommit,
  createPreparedQueries,
  createSigningKey,
  type Database,
  isoTime,
  isUuid,
  lruCacheOptions,
  redactText,
} from '../../platform/index.ts';
import type { FoundDevice, Provisioning } from '../../provisioning/index.ts';
import type { DeviceConfigurations } from '../configuration/device-configuration.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import { requireNonDeviceCaller, throwMemberProblem } from '../infrastructure/request-checks.ts';
import {
  type DeliveryQuery,
  type DeliveryRecord,
  findDelivery,
  insertSigningKey,
  listDeliveries,
  listOlderSigningKeys,
  recordAcknowledgement,
  recordSentConfigurations,
  type SentConfiguration,
  toDeliveryView,
} from './configuration-delivery-sql.ts';
import {
  createDesiredConfigurationFinder,
  type DesiredConfiguration,
  type DesiredConfigurationFinder,
  type DeviceVersions,
} from './desired-configuration.ts';
import { buildDeviceDocument } from './device-document.ts';

/**
 * The server records repeated requests of a device at this interval, and after a change at once.
 */
const recordEveryMs = 10 * 60_000;
const recordedDevicesMax = 100_000;

export type ConfigurationDeliveryDeps = {
  readonly database: Database;
  readonly clock: Clock;
  /** 32 bytes; the server derives the signing key from it. */
  readonly masterKey: Buffer;
  readonly provisioning: Pick<Provisioning, 'findDevice' | 'merchants' | 'logicalDevices'>;
  readonly configuration: Pick<DeviceConfigurations, 'readDeviceConfiguration' | 'readVersions'>;
};

export type ConfigurationDelivery = {
  /** Returns the version, and the document if the client does not hold that version. */
  readDocument(
    scope: CallerScope,
    hasVersion: (version: string) => boolean,
  ): Promise<{ version: string; document?: DeviceConfigurationDocument }>;
  acknowledge(
    scope: CallerScope,
    acknowledgement: DeviceAcknowledgement,
  ): Promise<AcknowledgedConfiguration>;
  getDelivery(scope: CallerScope, logicalDeviceId: string): Promise<DeviceDelivery>;
  listDeliveries(
    scope: CallerScope,
    query: DeliveryQuery,
    page: PageRequest,
  ): Promise<FoundPage<FleetDeviceDelivery>>;
  listSigningKeys(): Promise<ConfigurationKeyList>;
};

function getDeliveryStatus(
  row: DeliveryRecord | undefined,
  version: string,
): DeviceDelivery['status'] {
  if (row?.appliedVersion === version) return 'Applied';
  return row?.failedVersion === version ? 'Failed' : 'Pending';
}

function listServiceDeliveries(
  { services, desired }: DesiredConfiguration,
  row: DeliveryRecord | undefined,
) {
  const deviceStatus = getDeliveryStatus(row, desired.version);
  return services.map(({ serviceId, name, values }): DeviceDelivery['services'][number] => {
    const version = String(desired.versions[serviceId]);
    const appliedVersion = row?.appliedServices?.[serviceId];
    const isApplied = deviceStatus === 'Applied' || appliedVersion === version;
    const status = isApplied ? 'Applied' : deviceStatus;
    const appliedMember = defined({ appliedVersion });
    return {
      serviceId,
      name,
      status: values === undefined ? 'Held' : status,
      version,
      ...appliedMember,
    };
  });
}

/** @example const delivery = createConfigurationDelivery(deps); const { version } = await delivery.readDocument(scope, () => false); */
export function createConfigurationDelivery(
  deps: ConfigurationDeliveryDeps,
): ConfigurationDelivery {
  const desiredConfigurations = createDesiredConfigurationFinder(deps);
  return {
    ...createDeviceOperations(deps, desiredConfigurations),
    ...createAdministratorOperations(deps, desiredConfigurations),
  };
}

function createDeviceOperations(
  deps: ConfigurationDeliveryDeps,
  desiredConfigurations: DesiredConfigurationFinder,
): Pick<ConfigurationDelivery, 'readDocument' | 'acknowledge' | 'listSigningKeys'> {
  const { database, clock, provisioning } = deps;
  const queries = createPreparedQueries(database, 'catalog');
  const key = createSigningKey(deps.masterKey, 'device configuration');
  const recordedRequests = new LRUCache<string, { basis: string; at: number }>(
    lruCacheOptions(recordedDevicesMax),
  );
  const sentConfigurationWriter = createGroupCommit<SentConfiguration, void>({
    name: 'device configuration',
    key: ({ organizationId, logicalDeviceId }) => `${organizationId}|${logicalDeviceId}`,
    async run(rows) {
      await recordSentConfigurations(queries, rows, isoTime(clock.now()));
      return rows.map(() => undefined);
    },
  });
  let storedKey: Promise<void> | undefined;

  async function storeSigningKey(): Promise<void> {
    storedKey ??= insertSigningKey(queries, key.key, isoTime(clock.now()));
    try {
      await storedKey;
    } catch (error) {
      storedKey = undefined;
      throw error;
    }
  }

  /** A disabled device, or a caller that is no device, gets the same error as an unknown device. */
  async function requireCallingDevice({
    organizationId,
    merchantId,
    deviceId = '',
  }: CallerScope): Promise<FoundDevice> {
    const device = isUuid(deviceId)
      ? await provisioning.findDevice(organizationId, merchantId, deviceId)
      : undefined;
    if (device !== undefined) return device;
    return throwProblem('device_not_found', 'The token belongs to no device or to a disabled one.');
  }

  async function recordRequest(
    organizationId: string,
    device: FoundDevice,
    deviceVersions: DeviceVersions,
  ): Promise<void> {
    const { logicalDeviceId } = device;
    const name = `${organizationId}|${logicalDeviceId}`;
    const now = clock.now();
    const last = recordedRequests.get(name);
    if (last?.basis === deviceVersions.basis && now - last.at < recordEveryMs) return;
    await sentConfigurationWriter.submit({
      organizationId,
      logicalDeviceId,
      ...deviceVersions.desired,
    });
    recordedRequests.set(name, { basis: deviceVersions.basis, at: now });
  }

  return {
    async readDocument(scope, hasVersion) {
      const { organizationId } = scope;
      const device = await requireCallingDevice(scope);
      const cachedVersions = await desiredConfigurations.findCachedVersions(organizationId, device);
      if (cachedVersions !== undefined && hasVersion(cachedVersions.desired.version)) {
        await recordRequest(organizationId, device, cachedVersions);
        return { version: cachedVersions.desired.version };
      }
      const deviceVersions = await desiredConfigurations.find(organizationId, device);
      await recordRequest(organizationId, device, deviceVersions);
      const { services, desired } = deviceVersions;
      if (hasVersion(desired.version)) return { version: desired.version };
      await storeSigningKey();
      const document = buildDeviceDocument(key, device.logicalDeviceId, services, desired);
      return { version: desired.version, document };
    },

    async acknowledge(scope, acknowledgement) {
      const { organizationId } = scope;
      if (acknowledgement.applied && acknowledgement.reason !== undefined) {
        throwMemberProblem('/reason', 'is allowed only for a version that was not applied');
      }
      const device = await requireCallingDevice(scope);
      const { logicalDeviceId } = device;
      const deviceVersions = await desiredConfigurations.find(organizationId, device);
      const isCurrent = acknowledgement.version === deviceVersions.desired.version;
      if (isCurrent) await recordRequest(organizationId, device, deviceVersions);
      const row = isCurrent
        ? undefined
        : await findDelivery(queries, organizationId, logicalDeviceId);
      const versions = row?.sentVersion === acknowledgement.version ? row.sentServices : undefined;
      const acknowledgedVersions = isCurrent ? deviceVersions.desired.versions : versions;
      if (acknowledgedVersions === undefined)
        return throwMemberProblem('/version', 'was not sent to this device');
      const now = isoTime(clock.now());
      // A faulty device may send any text as its reason.
      const reason =
        acknowledgement.reason === undefined ? {} : { reason: redactText(acknowledgement.reason) };
      const safeAcknowledgement = { ...acknowledgement, ...reason };
      await recordAcknowledgement(
        queries,
        { organizationId, logicalDeviceId },
        safeAcknowledgement,
        {
          versions: acknowledgedVersions,
          now,
        },
      );
      return { ...safeAcknowledgement, logicalDeviceId, acknowledgedAt: now };
    },

    async listSigningKeys() {
      return { keys: [key.key, ...(await listOlderSigningKeys(queries, key.key.kid))] };
    },
  };
}

function createAdministratorOperations(
  deps: ConfigurationDeliveryDeps,
  desiredConfigurations: DesiredConfigurationFinder,
): Pick<ConfigurationDelivery, 'getDelivery' | 'listDeliveries'> {
  const { database, provisioning } = deps;

  return {
    async getDelivery(scope, id) {
      requireNonDeviceCaller(scope);
      if (!isUuid(id))
        throwProblem('device_not_found', 'No device that you may see has this identifier.');
      const { view } = await provisioning.logicalDevices.get(scope, id);
      const { logicalDeviceId } = view;
      const deviceVersions = await desiredConfigurations.find(scope.organizationId, view);
      const row = await findDelivery(database, scope.organizationId, logicalDeviceId);
      const { version } = deviceVersions.desired;
      return {
        logicalDeviceId,
        status: getDeliveryStatus(row, version),
        version,
        ...(row === undefined ? {} : toDeliveryView(row)),
        services: listServiceDeliveries(deviceVersions, row),
      };
    },

    async listDeliveries(scope, query, page) {
      requireNonDeviceCaller(scope);
      const { organizationId, merchantId = query.merchantId } = scope;
      if ((query.merchantId ?? merchantId) !== merchantId) return { items: [] };
      const scopedQuery = { ...query, ...defined({ merchantId }) };
      const { rows, next } = await listDeliveries(database, organizationId, scopedQuery, page);
      const items = rows.map((row) => ({
        logicalDeviceId: row.logicalDeviceId,
        storeId: row.storeId,
        merchantId: row.merchantId,
        status: row.deliveryStatus,
        ...toDeliveryView(row),
      }));
      return { items, next };
    },
  };
}
