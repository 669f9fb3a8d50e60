// The receivers of the bench, a process of their own: fast ones, a slow one, and one that never answers.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { offerFunctions } from '../bench-process.ts';
import { createLatencyHistogram } from '../report/latency-histogram.ts';

const slowMs = 1000;

/** Of the fast receivers, since the last request for counts. */
export type ReceivedCounts = {
  count: number;
  /** From the time of the event to its arrival, µs. */
  p50Us: number;
  p99Us: number;
  maxUs: number;
};

let delays = createLatencyHistogram();

const fast: RequestListener = (request, reply) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  request.on('end', () => {
    const timestamp = /"timestamp":"([^"]+)"/.exec(Buffer.concat(chunks).toString());
    delays.record(Date.now() - Date.parse(timestamp?.[1] ?? ''));
    reply.writeHead(204).end();
  });
};

const slow: RequestListener = (request, reply) => {
  request.resume();
  setTimeout(() => reply.writeHead(204).end(), slowMs);
};

const dead: RequestListener = (request) => void request.resume();

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const functions = {
  async open(fastOnes: number) {
    const fastPorts: number[] = [];
    while (fastPorts.length < fastOnes) fastPorts.push(await listen(fast));
    return { fastPorts, slowPort: await listen(slow), deadPort: await listen(dead) };
  },
  takeCounts(): ReceivedCounts {
    const counts = {
      count: delays.count(),
      p50Us: delays.percentileUs(50),
      p99Us: delays.percentileUs(99),
      maxUs: delays.maxUs(),
    };
    delays = createLatencyHistogram();
    return counts;
  },
};
export type ReceiverFunctions = typeof functions;

offerFunctions(functions);
