// Ports for test servers that need a known port, or the same port after a restart.
import { createServer, type Server } from 'node:net';

/**
 * These ports are below the ephemeral range, so the system gives them to no outgoing connection.
 */
const portsFrom = 12_000;
const portsInShare = 400;
const shares = 50;

/** @returns undefined if another process listens at the port */
function tryListen(port: number): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/**
 * Claims a range of ports for this process; it listens at the first port of the range until it
 * ends.
 * So two processes that run at the same time never use the same port.
 */
async function claimShare(): Promise<number> {
  for (let at = 0; at < shares; at += 1) {
    const first = portsFrom + ((process.pid + at) % shares) * portsInShare;
    const claim = await tryListen(first);
    if (claim === undefined) continue;
    claim.unref();
    return first;
  }
  throw new Error(`${shares} processes have all the ports that tests may use`);
}

let firstPortOfShare: Promise<number> | undefined;
let portsTaken = 0;

/** Takes ports in turn, so two callers never get the same port before one of them listens. */
async function listenAtNextPort(): Promise<Server> {
  firstPortOfShare ??= claimShare();
  const first = await firstPortOfShare;
  for (let tries = 1; tries < portsInShare; tries += 1) {
    const port = first + 1 + (portsTaken % (portsInShare - 1));
    portsTaken += 1;
    const server = await tryListen(port);
    if (server !== undefined) return server;
  }
  throw new Error('all ports of this process are in use');
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenAtNextPort));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
