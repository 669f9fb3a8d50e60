// The baseline of webhooks, a process of its own: rows written, signed and sent over kept connections, marked; nothing else.
import { createHmac, randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import pg from 'pg';
import { offerFunctions } from '../bench-process.ts';

const loops = 16;
const batchRows = 32;
const key = Buffer.alloc(32, 7);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

let pool: pg.Pool | undefined;
let ports: number[] = [];
let body = '';

function send(port: number, id: string): Promise<void> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: '/',
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
    });
    sent.on('error', reject);
    sent.on('response', (answer) => {
      answer.resume();
      answer.on('end', resolve);
    });
    sent.end(body);
  });
}

async function batch(pool: pg.Pool): Promise<void> {
  const rows = Array.from({ length: batchRows }, () => randomUUID());
  const insert = `INSERT INTO bare_deliveries SELECT unnest($1::uuid[]), 'Pending'`;
  await pool.query({ name: 'insert', text: insert, values: [rows] });
  await Promise.all(rows.map((id, index) => send(ports[index % ports.length] ?? 0, id)));
  const update = `UPDATE bare_deliveries SET status = 'Delivered' WHERE id = ANY($1::uuid[])`;
  await pool.query({ name: 'mark', text: update, values: [rows] });
}

async function run(pool: pg.Pool, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let sent = 0;
  await Promise.all(
    Array.from({ length: loops }, async () => {
      while (performance.now() < end) {
        await batch(pool);
        sent += batchRows;
      }
    }),
  );
  return sent / seconds;
}

const functions = {
  async open(options: { url: string; ports: number[]; body: string }): Promise<void> {
    ({ ports, body } = options);
    pool = new pg.Pool({ connectionString: options.url, max: loops });
    const text = 'CREATE TABLE IF NOT EXISTS bare_deliveries (id uuid PRIMARY KEY, status text)';
    await pool.query(text);
  },
  async run(seconds: number): Promise<number> {
    if (pool === undefined) throw new Error('the baseline is not open');
    return run(pool, seconds);
  },
};
export type WebhookBaselineFunctions = typeof functions;

offerFunctions(functions);
