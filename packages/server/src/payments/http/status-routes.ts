// Routes that read: a transaction, missing offline sales, and the availability of payments.
import {
  AcquirerAvailability,
  OfflineGap,
  ProblemError,
  pageOf,
  TransactionWithEvents,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Acquiring } from '../../acquiring/index.ts';
import { type Caller, pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { type ListGapsPorts, listGaps } from '../offline/missing-sequence-numbers.ts';
import { getTransaction, type ReadPorts } from '../runtime/find-transaction.ts';
import {
  optionalId,
  paymentRoute,
  queryOf,
  TransactionParams,
  transactionErrors,
  transactionsPath,
} from './transaction-route-parts.ts';
import { viewWithEvents } from './transaction-view.ts';

export type AvailabilityPorts = {
  acquiring: Pick<Acquiring, 'listLinks'>;
  provisioning: Pick<Provisioning, 'resolveSaleEntities'>;
};

/** The links of the merchant's contracts; undefined for a caller of the organisation. */
async function linksOfCaller(
  { provisioning }: Pick<AvailabilityPorts, 'provisioning'>,
  caller: Caller,
): Promise<Set<string> | undefined> {
  const { organizationId, merchantId } = caller;
  if (merchantId === undefined) return undefined;
  try {
    const { contracts } = await provisioning.resolveSaleEntities(organizationId, { merchantId });
    return new Set(contracts.map(({ acquirerLink }) => acquirerLink));
  } catch (error) {
    // A merchant that cannot take a sale now should work offline.
    if (error instanceof ProblemError) return new Set();
    throw error;
  }
}

/** The links that a sale of the caller could use. */
async function getAvailability(
  ports: AvailabilityPorts,
  caller: Caller,
): Promise<AcquirerAvailability> {
  const callerLinks = await linksOfCaller(ports, caller);
  const links = ports.acquiring
    .listLinks(caller.organizationId)
    .filter(({ linkId, isDraining }) => !isDraining && (callerLinks?.has(linkId) ?? true))
    .map(({ name, available }) => ({ name, available }));
  const available = links.some((link) => link.available);
  return { available, offlineAdvised: !available, links };
}

const WaitQuery = queryOf({
  merchantId: optionalId(),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 30,
      description: 'Seconds to wait while something is under way.',
    }),
  ),
});

export function registerReadRoutes(
  app: FastifyInstance,
  ports: ReadPorts & AvailabilityPorts,
): void {
  route(app, {
    method: 'GET',
    url: `${transactionsPath}/:transactionId`,
    operationId: 'getTransaction',
    summary: 'Get a transaction with its events',
    ...paymentRoute,
    permission: 'pay.read',
    priority: 'last',
    params: TransactionParams,
    query: WaitQuery,
    response: { 200: TransactionWithEvents },
    errors: transactionErrors,
    handler: async ({ caller, params, query }) =>
      viewWithEvents(
        await getTransaction(ports, caller, {
          identifier: params.transactionId,
          merchantId: query.merchantId,
          waitSeconds: query.wait ?? 0,
        }),
      ),
  });
  route(app, {
    method: 'GET',
    url: `${transactionsPath}/technical/isAvailable`,
    operationId: 'getAvailability',
    summary: 'Get the availability of payments',
    ...paymentRoute,
    permission: ['pay.sale', 'pay.read'],
    priority: 'last',
    response: { 200: AcquirerAvailability },
    errors: [],
    handler: async ({ caller }) => getAvailability(ports, caller),
  });
}

export function registerOfflineRoutes(app: FastifyInstance, ports: ListGapsPorts): void {
  route(app, {
    method: 'GET',
    url: '/payment/v1/offline-gaps',
    operationId: 'listOfflineGaps',
    summary: 'List the gaps in the numbers of offline sales',
    description:
      'Numbers that terminals have counted (offlineData.terminalSequence) and not uploaded, as they ' +
      'are missing now. A minute after a gap was found its upload has an event offline.gap_detected.',
    ...paymentRoute,
    permission: 'pay.read',
    priority: 'list',
    query: queryOf({
      ...pageQuery,
      merchantId: optionalId('Of one merchant.'),
      storeId: optionalId('Of one store.'),
      deviceId: optionalId('Of one logical device.'),
    }),
    response: { 200: pageOf(OfflineGap) },
    errors: ['entity_out_of_scope', 'cursor_invalid', 'database_unavailable'],
    async handler({ caller, query }) {
      const gapPage = await listGaps(
        ports,
        caller,
        query,
        readPageRequest(query, 'listOfflineGaps'),
      );
      return pageResponse(gapPage, query, 'listOfflineGaps');
    },
  });
}
