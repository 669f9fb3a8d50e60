// The bare server, a process of its own: Fastify with TLS and JSON, two commits and one exchange with the
// acquirer simulator for each sale. It checks no token and no rule, encrypts nothing and uses no code of the platform.
import Fastify from 'fastify';
import pg from 'pg';
import { offerFunctions } from '../bench-process.ts';
import { openBareAcquirerLink } from './bare-acquirer-link.ts';
import { commitIntent, commitOutcome, durableOptions } from './fixed-commits.ts';

type BareServerOptions = {
  /** Of a database with the tables of the fixed line. */
  url: string;
  certificate: { cert: string; key: string };
  simulatorPort: number;
};

type SaleRequest = { clientTransactionId: string; amount: number; currency: string };

const databaseConnections = 32;
/** The load generator keeps its connections while other lines are measured. */
const keepAliveTimeout = 3_600_000;

const text = { type: 'string' } as const;
const saleResponse = {
  type: 'object',
  properties: {
    transactionId: text,
    clientTransactionId: text,
    state: text,
    approved: { type: 'boolean' },
    amount: { type: 'integer' },
    currency: text,
  },
} as const;

/** Returns the port. */
async function listen({ url, certificate, simulatorPort }: BareServerOptions): Promise<number> {
  const pool = new pg.Pool({
    connectionString: url,
    options: durableOptions,
    max: databaseConnections,
    idleTimeoutMillis: 0,
  });
  const acquirer = await openBareAcquirerLink(simulatorPort);
  const app = Fastify({ https: certificate, keepAliveTimeout });
  app.post<{ Body: SaleRequest }>(
    '/payment/v1/transactions/process',
    { schema: { response: { 200: saleResponse } } },
    async ({ body: { clientTransactionId, amount, currency } }) => {
      const transactionId = await commitIntent(pool, clientTransactionId);
      const approved = await acquirer.approve(amount);
      const state = approved ? 'Captured' : 'Declined';
      await commitOutcome(pool, transactionId, state);
      return { transactionId, clientTransactionId, state, approved, amount, currency };
    },
  );
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}

const functions = { listen };
export type BareServerFunctions = typeof functions;

offerFunctions(functions);
