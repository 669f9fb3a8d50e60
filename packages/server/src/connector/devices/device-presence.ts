// Stores in the database which devices are connected; the lease of a dead node expires.
import { type Clock, type Database, isoTime, type Log } from '../../platform/index.ts';

/** A node renews its leases twice in this time. */
const leaseMs = 150_000;
export const leaseRenewalMs = 60_000;

export type DevicePresence = {
  readonly physicalDeviceId: string;
  readonly isOnline: boolean;
  readonly lastSeenAt: number;
};

type Device = { readonly organizationId: string; readonly physicalDeviceId: string };

/** One connection of a device; a higher `order` is newer. */
type ConnectionRef = { readonly connectionId: string; readonly order: number };

type Connected = { readonly device: Device; readonly connectionId: string };

/** The maximum number of connections in one statement. */
const rowsPerStatement = 1000;

const chunksOf = (connections: readonly Connected[]): readonly (readonly Connected[])[] =>
  Array.from({ length: Math.ceil(connections.length / rowsPerStatement) }, (_, at) =>
    connections.slice(at * rowsPerStatement, (at + 1) * rowsPerStatement),
  );

const columnsOf = (connections: readonly Connected[]): string[][] => [
  connections.map(({ device }) => device.organizationId),
  connections.map(({ device }) => device.physicalDeviceId),
  connections.map(({ connectionId }) => connectionId),
];

/** A process of the previous version writes another value, which means that it has the device. */
const currentVersionId = "'00000000-0000-0000-0000-000000000000'";

export type PresenceStore = ReturnType<typeof createPresenceStore>;

type Deps = { readonly database: Database; readonly clock: Clock; readonly node: string };

/** @example if (!(await presence.connect(device, { connectionId, order }))) throwProblem('session_gone', …); */
export function createPresenceStore({ database, clock, node }: Deps) {
  const lease = () => isoTime(clock.now() + leaseMs);
  const now = () => isoTime(clock.now());
  return {
    /** Numbers the registrations of a device, in the order in which they reach the database. */
    async register({ organizationId, physicalDeviceId }: Device): Promise<number> {
      const [row] = await database.query<{ registrations: number }>(
        `INSERT INTO device_registrations AS r (organization_id, physical_device_id, registrations)
         VALUES ($1, $2, 1)
         ON CONFLICT (organization_id, physical_device_id) DO UPDATE
           SET registrations = 1 + greatest(r.registrations, (
             SELECT p.connection_order FROM device_presence p
             WHERE p.organization_id = $1 AND p.physical_device_id = $2))
         RETURNING registrations`,
        [organizationId, physicalDeviceId],
      );
      if (row === undefined) throw new Error('the database returned no registration number');
      return row.registrations;
    },
    /** Returns false if the registration was used before, or the device has a newer connection. */
    async connect(
      { organizationId, physicalDeviceId }: Device,
      { connectionId, order }: ConnectionRef,
    ): Promise<boolean> {
      const rows = await database.query(
        `INSERT INTO device_presence AS p
           (organization_id, physical_device_id, connection_id, connection_name, connection_order,
             node, online_until, last_seen_at, since)
         VALUES ($1, $2, ${currentVersionId}, $3, $4, $5, $6, $7, $7)
         ON CONFLICT (organization_id, physical_device_id) DO UPDATE
           SET connection_id = EXCLUDED.connection_id, connection_name = EXCLUDED.connection_name,
             connection_order = EXCLUDED.connection_order, node = EXCLUDED.node,
             online_until = EXCLUDED.online_until, last_seen_at = EXCLUDED.last_seen_at,
             since = CASE WHEN p.online_until > $7 THEN p.since ELSE EXCLUDED.since END
           WHERE p.connection_order < EXCLUDED.connection_order
         RETURNING connection_name`,
        [organizationId, physicalDeviceId, connectionId, order, node, lease(), now()],
      );
      return rows.length > 0;
    },
    /** Changes nothing if another connection has replaced this one. */
    async disconnect(
      { organizationId, physicalDeviceId }: Device,
      connectionId: string,
    ): Promise<void> {
      await database.query(
        `UPDATE device_presence SET online_until = NULL, last_seen_at = $4, since = $4
         WHERE organization_id = $1 AND physical_device_id = $2 AND connection_name = $3
           AND connection_id = ${currentVersionId}`,
        [organizationId, physicalDeviceId, connectionId, now()],
      );
    },
    /**
     * Renews only connections of this process; leases of an earlier process with this name expire.
     */
    async renew(connections: readonly Connected[]): Promise<void> {
      for (const chunk of chunksOf(connections)) {
        await database.query(
          `UPDATE device_presence p SET online_until = $4, last_seen_at = $5,
             since = CASE WHEN p.online_until > $5 THEN p.since ELSE $5 END
           FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS here (organization, device, connection)
           WHERE p.organization_id = here.organization AND p.physical_device_id = here.device
             AND p.connection_name = here.connection AND p.connection_id = ${currentVersionId}
             AND p.online_until IS NOT NULL`,
          [...columnsOf(chunk), lease(), now()],
        );
      }
    },
    /** Returns those connections that another connection of the same device has replaced. */
    async findSuperseded(connections: readonly Connected[]): Promise<ReadonlySet<string>> {
      const supersededIds = new Set<string>();
      for (const chunk of chunksOf(connections)) {
        const rows = await database.query<{ connection: string }>(
          `SELECT here.connection
           FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS here (organization, device, connection)
           JOIN device_presence p
             ON p.organization_id = here.organization AND p.physical_device_id = here.device
           WHERE p.connection_name IS DISTINCT FROM here.connection
             OR p.connection_id <> ${currentVersionId}`,
          columnsOf(chunk),
        );
        for (const { connection } of rows) supersededIds.add(connection);
      }
      return supersededIds;
    },
    /** Returns the presence of those devices that have connected before. */
    async find(
      organizationId: string,
      physicalDeviceIds: readonly string[],
    ): Promise<ReadonlyMap<string, DevicePresence>> {
      const rows = await database.query<{
        physical_device_id: string;
        online_until: Date | null;
        last_seen_at: Date;
      }>(
        `SELECT physical_device_id, online_until, last_seen_at FROM device_presence
         WHERE organization_id = $1 AND physical_device_id = ANY ($2::uuid[])`,
        [organizationId, physicalDeviceIds],
      );
      return new Map(
        rows.map((row) => {
          const isOnline = row.online_until !== null && row.online_until.getTime() > clock.now();
          const { physical_device_id: id, last_seen_at: seen } = row;
          return [id, { physicalDeviceId: id, isOnline, lastSeenAt: seen.getTime() }];
        }),
      );
    },
  };
}

/**
 * Stores in the background that devices have disconnected.
 *
 * @example const recorder = createDisconnectRecorder(presence, log); recorder.record(device, connectionId);
 */
export function createDisconnectRecorder(presence: Pick<PresenceStore, 'disconnect'>, log: Log) {
  const pendingWrites = new Set<Promise<void>>();
  return {
    record(...[device, connectionId]: Parameters<PresenceStore['disconnect']>): void {
      const write = presence
        .disconnect(device, connectionId)
        .catch((error: unknown) => {
          log.error({ err: error }, 'the server could not store that a device went offline');
        })
        .finally(() => pendingWrites.delete(write));
      pendingWrites.add(write);
    },
    /** Resolves when all pending writes have finished. */
    async waitForIdle(): Promise<void> {
      await Promise.all(pendingWrites);
    },
  };
}
