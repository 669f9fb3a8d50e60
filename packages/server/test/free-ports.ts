// Ports for servers of tests that must be known beforehand, or that come back at the same one.
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** Below those that systems give to connections going out: nobody takes one between two moments. */
const portsFrom = 12_000;
const portsOfProcess = 400;
const shares = 50;
/** Of test files that run side by side each has ports of its own: one that is free a moment ago stays so. */
const firstPort = portsFrom + (process.pid % shares) * portsOfProcess;

/** Listens at a port that nobody has. */
async function heldPort(): Promise<Server> {
  for (;;) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(firstPort + randomInt(portsOfProcess), '127.0.0.1', () => resolve(true));
    });
    if (isFree) return server;
  }
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, heldPort));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
