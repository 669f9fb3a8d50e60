// The receivers of the bench, a process of their own: some that are well, a slow one, and one that never answers.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHistogram } from '../report/histogram.ts';
import type { FromReceiver, ToReceiver } from './webhooks-messages.ts';

const slowMs = 1000;
const usPerMs = 1000;

let lags = createHistogram();

function sendMessage(message: FromReceiver): void {
  process.send?.(message);
}

const well: RequestListener = (request, reply) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  request.on('end', () => {
    const timestamp = /"timestamp":"([^"]+)"/.exec(Buffer.concat(chunks).toString());
    lags.record((Date.now() - Date.parse(timestamp?.[1] ?? '')) * usPerMs);
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

async function open(count: number): Promise<void> {
  const good: number[] = [];
  while (good.length < count) good.push(await listen(well));
  sendMessage({ type: 'ready', good, slow: await listen(slow), dead: await listen(dead) });
}

process.on('message', (message: ToReceiver) => {
  if (message.type === 'open') void open(message.good);
  else {
    const counts = {
      count: lags.count(),
      p50Us: lags.percentile(50),
      p99Us: lags.percentile(99),
      maxUs: lags.max(),
    };
    lags = createHistogram();
    sendMessage({ type: 'taken', counts });
  }
});
process.on('disconnect', () => process.exit(0));
