// The nodes of the cluster: each is a PostgreSQL of its own, with an address of its own.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createLog,
  type EmbeddedPostgres,
  type Log,
  startEmbeddedPostgres,
} from '../../../packages/server/src/platform/index.ts';
import type { CitusNodes } from '../../../packages/server/test/support/database/citus-nodes.ts';
import type { CloseStack } from '../../bench/close-in-reverse-order.ts';

const port = 5432;
/** The last part of the address. The workers follow the coordinator; `plain` has no extension. */
const nodeNumbers = { coordinator: 1, plain: 9 };

const commonSettings = {
  // Moved shards are copied by logical replication.
  wal_level: 'logical',
  max_wal_senders: '10',
  max_replication_slots: '10',
  max_worker_processes: '32',
  // Commits on several nodes.
  max_prepared_transactions: '200',
  max_connections: '200',
  shared_buffers: '64MB',
  max_wal_size: '512MB',
};

const citusSettings = (host: string) => ({
  ...commonSettings,
  shared_preload_libraries: 'citus',
  'citus.shard_count': '32',
  // The connections between the nodes need no certificates: all are on loopback.
  'citus.node_conninfo': 'sslmode=disable',
  // A node that moves a shard also connects to itself.
  'citus.local_hostname': host,
});

export type Node = {
  readonly url: string;
  /** Of its postmaster. */
  pid(): number;
  /** Ends the postmaster by SIGKILL; the node stays down. */
  kill(): Promise<void>;
  start(): Promise<void>;
};

export type Cluster = {
  readonly folder: string;
  readonly log: Log;
  /** The coordinator and the first workers; a worker is started when it is first requested. */
  nodes(workers: number): Promise<CitusNodes>;
  worker(number: number): Promise<Node>;
  pids(workers: number): Promise<number[]>;
  /** A PostgreSQL of the same programs and settings, without the extension. */
  plain(): Promise<Node>;
};

const addressOfNode = (number: number) => `127.0.77.${number}`;

async function requireFreePort(host: string): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const text = `port ${port} of ${host} cannot be used (${error.code}): end the other drill or PostgreSQL that listens on it`;
      reject(new Error(text, { cause: error }));
    });
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

/** Everything is in a temporary folder, which is deleted when the closers have run. */
export function openCluster(closers: CloseStack, binDir: string): Cluster {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-drill-'));
  // As root, PostgreSQL runs as another account, which must pass through.
  chmodSync(folder, 0o711);
  closers.add(() => rmSync(folder, { recursive: true, force: true }));
  // A killed worker is expected, and its watcher reports it as an error.
  const nodeLog = createLog({ logLevel: 'fatal', instanceName: 'drill' }, process.stderr);
  const log = createLog({ logLevel: 'error', instanceName: 'drill' }, process.stderr);

  let isClosing = false;

  async function startNode(number: number): Promise<Node> {
    const host = addressOfNode(number);
    const nodeSettings = number === nodeNumbers.plain ? commonSettings : citusSettings(host);
    const settings = { ...nodeSettings, listen_addresses: host };
    async function start(): Promise<EmbeddedPostgres> {
      if (isClosing) throw new Error('the drill is ending and starts no more nodes');
      await requireFreePort(host);
      const dataDir = join(folder, `node-${number}`);
      return startEmbeddedPostgres({ dataDir, binDir, settings, log: nodeLog });
    }
    let starting = start();
    // The drill may end while PostgreSQL starts. An error of the start is reported to its caller.
    closers.add(async () => {
      isClosing = true;
      const started = await starting.catch(() => undefined);
      await started?.stop();
    });
    let server = await starting;
    return {
      url: `postgresql://switchyard@${host}:${port}/postgres?sslmode=disable`,
      pid: () => server.pid(),
      async kill() {
        process.kill(server.pid(), 'SIGKILL');
        await server.stop();
      },
      async start() {
        starting = start();
        server = await starting;
      },
    };
  }

  const started = new Map<number, Promise<Node>>();
  function node(number: number): Promise<Node> {
    const running = started.get(number) ?? startNode(number);
    started.set(number, running);
    return running;
  }

  /** One after the other: the start of a PostgreSQL needs all cores of a small machine. */
  async function startNodes(workers: number): Promise<[coordinator: Node, ...workers: Node[]]> {
    const coordinator = await node(nodeNumbers.coordinator);
    const others: Node[] = [];
    for (let number = 1; number <= workers; number += 1) others.push(await worker(number));
    return [coordinator, ...others];
  }
  const worker = (number: number) => node(nodeNumbers.coordinator + number);

  return {
    folder,
    log,
    async nodes(workers) {
      const [coordinator, ...others] = await startNodes(workers);
      return { coordinator: coordinator.url, workers: others.map(({ url }) => url) };
    },
    worker,
    pids: async (workers) => (await startNodes(workers)).map(({ pid }) => pid()),
    plain: () => node(nodeNumbers.plain),
  };
}
