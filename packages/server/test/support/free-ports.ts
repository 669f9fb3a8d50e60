// Ports for servers of tests that must be known beforehand, or that come back at the same one.
import { createServer, type Server } from 'node:net';

/** Below those that systems give to connections going out: nobody takes one between two moments. */
const portsFrom = 12_000;
const portsInShare = 400;
const shares = 50;

/** @returns nothing where somebody listens there */
function listenAt(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/**
 * Of processes that run side by side each has ports of its own, as long as it lives: they are its whose
 * first one it listens at. What was free a moment ago stays so until it is used.
 */
async function claimShare(): Promise<number> {
  for (let at = 0; at < shares; at += 1) {
    const first = portsFrom + ((process.pid + at) % shares) * portsInShare;
    const claim = await listenAt(first);
    if (claim === undefined) continue;
    claim.unref();
    return first;
  }
  throw new Error(`${shares} processes have all the ports that tests may use`);
}

let share: Promise<number> | undefined;
let given = 0;

/** One after the other: who asks next does not get one that was given and is not listened at yet. */
async function heldPort(): Promise<Server> {
  share ??= claimShare();
  const first = await share;
  for (let tries = 1; tries < portsInShare; tries += 1) {
    const port = first + 1 + (given % (portsInShare - 1));
    given += 1;
    const server = await listenAt(port);
    if (server !== undefined) return server;
  }
  throw new Error('all ports of this process are in use');
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, heldPort));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
