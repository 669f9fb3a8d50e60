// Routes of a transaction, missing offline sales, and the state and the keys of the acquirer links.
import {
  AcquirerAvailability,
  AcquirerLinkStateList,
  defined,
  OfflineGap,
  ProblemError,
  pageOf,
  TransactionWithEvents,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Acquiring } from '../../acquiring/index.ts';
import { type AuditRecorder, actorOf } from '../../audit/index.ts';
import { type Caller, pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { type Database, isoTime } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { type ListGapsPorts, listGaps } from '../offline/missing-sequence-numbers.ts';
import { getTransaction, type ReadPorts } from '../runtime/find-transaction.ts';
import type { LinkQueue } from '../runtime/link-backlog.ts';
import {
  idParams,
  optionalId,
  paymentRoute,
  queryOf,
  TransactionParams,
  tags,
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

type LinkPorts = {
  acquiring: Pick<Acquiring, 'listLinks' | 'requestKeys'>;
  linkQueue: Pick<LinkQueue, 'backlog'>;
  provisioning: Pick<Provisioning, 'acquirerLinks'>;
  audit: Pick<AuditRecorder, 'record'>;
  database: Database;
};

const linksPath = '/payment/v1/acquirer-links';
const approvedCode = '00';

function requireOrganizationCaller({ merchantId }: Caller): void {
  if (merchantId === undefined) return;
  throwProblem(
    'permission_denied',
    'Only a token of the organisation can use acquirer links; your token belongs to a merchant.',
  );
}

async function listLinkStates(
  { acquiring, linkQueue }: Pick<LinkPorts, 'acquiring' | 'linkQueue'>,
  organizationId: string,
) {
  const backlogs = await linkQueue.backlog(organizationId);
  const items = acquiring.listLinks(organizationId).map((link) => {
    const { linkId, name, available, connections, clientCertificateExpiresAt: expiresAt } = link;
    const backlog = backlogs.find((each) => each.linkId === linkId);
    const { length = 0, attempts = 0, alerts: alarms = 0, oldestAt } = backlog ?? {};
    return {
      acquirerLinkId: linkId,
      name,
      available,
      usesPreviousSettings: link.usesPreviousSettings,
      queue: { length, ...defined({ oldestAt }), attempts, alarms },
      alarm: alarms > 0,
      ...defined({
        connections,
        clientCertificateExpiresAt: expiresAt === undefined ? undefined : isoTime(expiresAt),
        faults: link.faults.length === 0 ? undefined : [...link.faults],
      }),
    };
  });
  return { items };
}

/** @throws ProblemError resource_not_found, key_request_refused */
async function requestKeys(
  { acquiring, provisioning, audit, database }: LinkPorts,
  { caller, id }: { caller: Caller; id: string },
  acquirerLinkId: string,
): Promise<void> {
  const { organizationId } = caller;
  const { view } = await provisioning.acquirerLinks.get({ organizationId }, acquirerLinkId);
  if (view.zoneMasterKey === undefined)
    throwProblem('key_request_refused', 'The link has no zoneMasterKey.');
  const responseCode = await acquiring.requestKeys(acquirerLinkId);
  if (responseCode === undefined)
    return throwProblem(
      'key_request_refused',
      'The link is not signed on, or the host did not answer the key request.',
    );
  await database.transaction((trx) =>
    audit.record(trx, {
      ...actorOf(caller, id),
      organizationId,
      action: 'acquirerLink.keysRequested',
      entity: { type: 'acquirerLink', id: acquirerLinkId },
      after: { responseCode },
    }),
  );
  if (responseCode !== approvedCode)
    throwProblem('key_request_refused', `The host answered the key request with ${responseCode}.`);
}

export function registerLinkRoutes(app: FastifyInstance, ports: LinkPorts): void {
  route(app, {
    method: 'GET',
    url: linksPath,
    operationId: 'listAcquirerLinkStates',
    summary: 'List the states of the acquirer links',
    description:
      'Availability and queue of each link. Reversals, captures and other messages are sent in order until the acquirer responds. An alarm means that six attempts of one message had no final response. `faults` names settings of the link that cannot be used, such as a key for another purpose.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    response: { 200: AcquirerLinkStateList },
    errors: ['permission_denied', 'database_unavailable'],
    async handler({ caller }) {
      requireOrganizationCaller(caller);
      return listLinkStates(ports, caller.organizationId);
    },
  });
  route(app, {
    method: 'POST',
    url: `${linksPath}/:acquirerLinkId/request-keys`,
    operationId: 'requestAcquirerLinkKeys',
    summary: 'Request new keys from the host of an acquirer link',
    description:
      'Sends a key request (161) to the ISO 8583 host of a link with a `zoneMasterKey`. After the response the host sends each new key in a message of its own; the link uses a key as soon as it is stored.',
    tags,
    permission: 'prov.write',
    params: idParams('acquirerLinkId'),
    bodyOptional: true,
    response: { 204: Type.Null() },
    errors: [
      'permission_denied',
      'resource_not_found',
      'key_request_refused',
      'database_unavailable',
    ],
    async handler(request, reply) {
      requireOrganizationCaller(request.caller);
      await requestKeys(ports, request, request.params.acquirerLinkId);
      return reply.code(204).send();
    },
  });
}
