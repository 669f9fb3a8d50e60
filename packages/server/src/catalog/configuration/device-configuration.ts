// Reads the values of every active service of a device, with a bounded cache.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/index.ts';
import type { Standing } from '../activations/active-services.ts';
import type { Run } from '../infrastructure/statement-runner.ts';
import { misfitsMax } from '../parameters/level-rules.ts';
import type { SecretBox } from '../parameters/secret-encryption.ts';
import type { LevelValues, Misfit, Values } from '../parameters/types.ts';
import {
  type ConfigurationRow,
  readDeviceLine,
  readDeviceVersions,
  type SetVersion,
} from './configuration-sql.ts';
import type { Judge } from './effective-configuration.ts';
import type { Releases } from './release-cache.ts';

const rememberedMaxBytes = 32 * 1024 * 1024;
/** The size of a cache entry without its values. */
const entryBytes = 512;
/** A change in another process becomes visible after at most this time; a local change at once. */
const rememberedMs = 5_000;
const versionChars = 22;

/** An active service of a device, with the configuration that the device must use. */
export type DeviceConfiguration = {
  readonly serviceId: string;
  readonly serviceName: string;
  readonly domain: string;
  readonly release: number;
  /** Changes whenever the values, or the release that checks them, may have changed. */
  readonly version: string;
  /**
   * Contains the secrets in clear. Absent when the stored values do not fit the release in force or
   * a required member is missing; the device then keeps its current values.
   */
  readonly values?: Values;
  /** The reasons for absent values; empty when values are present. */
  readonly misfits: readonly Misfit[];
};

export type ForDevice = {
  forDevice(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly DeviceConfiguration[]>;
  /**
   * Reads only the current versions, which is cheap for a client that may already hold the values.
   */
  versionsFor(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly Pick<DeviceConfiguration, 'serviceId' | 'domain' | 'version'>[]>;
  /**
   * Clears the cache of one organisation after its change, or the whole cache without an argument.
   */
  forget(organizationId?: string): void;
};

type Parts = {
  readonly run: Run;
  readonly clock: Clock;
  readonly standing: Pick<Standing, 'activeServices'>;
  readonly releases: Releases;
  readonly judge: Judge;
  readonly box: SecretBox;
};

export const levelOf = (box: SecretBox, row: ConfigurationRow): LevelValues => ({
  level: row.level,
  entityId: row.entity_id,
  version: row.version,
  values: row.own_values ?? undefined,
  secrets: box.open(row, row.secrets_sealed),
});

/** Derives the version from the names of its inputs, so a change is detected without the values. */
function versionOf(serviceId: string, release: number, rows: readonly SetVersion[]): string {
  const levels = rows.map(({ entity_id, version }) => [entity_id, version]);
  const text = JSON.stringify([serviceId, release, levels]);
  return createHash('sha256').update(text).digest('base64url').slice(0, versionChars);
}

/** @example const devices = createForDevice(parts); await devices.forDevice(organizationId, deviceId); */
export function createForDevice(parts: Parts): ForDevice {
  const { run, clock, standing, releases, judge, box } = parts;
  const remembered = new LRUCache<string, { until: number; found: DeviceConfiguration[] }>({
    maxSize: rememberedMaxBytes,
    sizeCalculation: ({ found }) => entryBytes + JSON.stringify(found).length,
  });
  const underway = new Map<string, Promise<DeviceConfiguration[]>>();
  /** Counts the changes: a result that was read before a change is returned, but not cached. */
  let changes = 0;

  async function load(organizationId: string, deviceId: string): Promise<DeviceConfiguration[]> {
    const [active, rows] = await Promise.all([
      standing.activeServices(organizationId, deviceId),
      readDeviceLine(run, organizationId, deviceId),
    ]);
    const inForce = await releases(active);
    return inForce.map((release) => {
      const { serviceId, name, domain } = release;
      const own = rows.filter((row) => row.service_id === serviceId);
      const levels = own.map((row) => levelOf(box, row));
      const { whole, missing, misfits } = judge.effective(release, levels);
      const wanting = missing.map(
        (pointer): Misfit => ({ pointer, code: 'field_required', detail: 'is set by nobody' }),
      );
      const faults = [...misfits, ...wanting];
      return {
        serviceId,
        serviceName: name,
        domain,
        release: release.release,
        version: versionOf(serviceId, release.release, own),
        ...(faults.length === 0 ? { values: whole } : {}),
        misfits: faults.slice(0, misfitsMax),
      };
    });
  }

  return {
    async forDevice(organizationId, logicalDeviceId) {
      const key = `${organizationId}|${logicalDeviceId}`;
      const known = remembered.get(key);
      if (known !== undefined && clock.now() < known.until) return known.found;
      const joined = underway.get(key);
      if (joined !== undefined) return joined;
      const seen = changes;
      const until = clock.now() + rememberedMs;
      const loading = load(organizationId, logicalDeviceId);
      underway.set(key, loading);
      try {
        const found = await loading;
        if (seen === changes) remembered.set(key, { until, found });
        return found;
      } finally {
        if (underway.get(key) === loading) underway.delete(key);
      }
    },
    async versionsFor(organizationId, logicalDeviceId) {
      const [active, rows] = await Promise.all([
        standing.activeServices(organizationId, logicalDeviceId),
        readDeviceVersions(run, organizationId, logicalDeviceId),
      ]);
      return active.map(({ serviceId, domain, release }) => {
        const own = rows.filter((row) => row.service_id === serviceId);
        return { serviceId, domain, version: versionOf(serviceId, release, own) };
      });
    },
    forget(organizationId) {
      changes += 1;
      underway.clear();
      if (organizationId === undefined) return remembered.clear();
      for (const key of remembered.keys()) {
        if (key.startsWith(`${organizationId}|`)) remembered.delete(key);
      }
    },
  };
}
