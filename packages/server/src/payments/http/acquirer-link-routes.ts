// Routes of the acquirer links: their states, and a request for new keys.
import {
  AcquirerLinkState,
  AcquirerLinkStateList,
  defined,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Acquiring } from '../../acquiring/index.ts';
import { type AuditRecorder, actorOf } from '../../audit/index.ts';
import { type Caller, route } from '../../http/index.ts';
import { type Database, isoTime, pause } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { LinkQueue } from '../runtime/link-backlog.ts';
import { idParams, tags } from './transaction-route-parts.ts';

type LinkPorts = {
  acquiring: Pick<Acquiring, 'listLinks' | 'requestKeys'>;
  linkQueue: Pick<LinkQueue, 'backlog'>;
  provisioning: Pick<Provisioning, 'acquirerLinks'>;
  audit: Pick<AuditRecorder, 'record'>;
  database: Database;
};

const linksPath = '/payment/v1/acquirer-links';
const approvedCode = '00';
const waitSecondsMax = 30;
const checkEveryMs = 200;

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

/** @throws ProblemError resource_not_found */
async function readLinkState(
  { acquiring, provisioning }: Pick<LinkPorts, 'acquiring' | 'provisioning'>,
  organizationId: string,
  acquirerLinkId: string,
): Promise<AcquirerLinkState> {
  const { view } = await provisioning.acquirerLinks.get({ organizationId }, acquirerLinkId);
  const { name, approval, status } = view;
  const head = { acquirerLinkId: view.acquirerLinkId, name };
  if (approval === 'PendingApproval') return { ...head, state: approval };
  if (status === 'Disabled') return { ...head, state: status };
  const link = acquiring
    .listLinks(organizationId)
    .find(({ linkId }) => linkId === view.acquirerLinkId);
  if (link?.available) return { ...head, state: 'Available' };
  return { ...head, state: 'Connecting', ...defined({ lastFault: link?.connections?.lastFault }) };
}

/** Waits while the platform connects, unless the client closes its connection. */
async function waitForLink(
  read: () => Promise<AcquirerLinkState>,
  waitSeconds: number,
  isClosed: () => boolean,
): Promise<AcquirerLinkState> {
  const endMs = performance.now() + waitSeconds * 1000;
  for (;;) {
    const link = await read();
    const isOver = performance.now() + checkEveryMs > endMs || isClosed();
    if (link.state !== 'Connecting' || isOver) return link;
    await pause(checkEveryMs);
  }
}

/** @throws ProblemError resource_not_found, key_request_refused */
async function requestKeys(
  { acquiring, provisioning, audit, database }: LinkPorts,
  { caller, id: requestId }: { caller: Caller; id: string },
  acquirerLinkId: string,
): Promise<void> {
  const { organizationId } = caller;
  const { view } = await provisioning.acquirerLinks.get({ organizationId }, acquirerLinkId);
  if (view.zoneMasterKey === undefined)
    throwProblem('key_request_refused', 'The link has no zoneMasterKey.');
  // Recorded before the request: keys can follow although the host sent no response.
  await database.transaction((trx) =>
    audit.record(trx, {
      ...actorOf(caller, requestId),
      organizationId,
      action: 'acquirerLink.keysRequested',
      entity: { type: 'acquirerLink', id: acquirerLinkId },
    }),
  );
  const responseCode = await acquiring.requestKeys(acquirerLinkId);
  if (responseCode === undefined)
    return throwProblem(
      'key_request_refused',
      'The link is not signed on, or the host sent no response code.',
    );
  if (responseCode !== approvedCode)
    throwProblem(
      'key_request_refused',
      `The host answered the key request with response code ${responseCode}.`,
    );
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
    method: 'GET',
    url: `${linksPath}/:acquirerLinkId`,
    operationId: 'getAcquirerLinkState',
    summary: 'Get the state of an acquirer link',
    description:
      'Whether payments can be sent over the link. With `waitSeconds` the response waits until the link is `Available`; it does not wait for the approval of the operator.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    params: idParams('acquirerLinkId'),
    query: Type.Object({
      waitSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: waitSecondsMax,
          default: 0,
          description: 'Wait up to this number of seconds while the platform connects.',
        }),
      ),
    }),
    response: { 200: AcquirerLinkState },
    errors: ['permission_denied', 'resource_not_found', 'database_unavailable'],
    async handler({ caller, params, query, raw }) {
      requireOrganizationCaller(caller);
      const read = () => readLinkState(ports, caller.organizationId, params.acquirerLinkId);
      return waitForLink(read, query.waitSeconds ?? 0, () => raw.destroyed);
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
