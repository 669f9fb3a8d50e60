// Route: state and backlog of the acquirer links.
import { AcquirerLinkStates, defined, refuse } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import type { Acquiring } from '../../acquiring/index.ts';
import { route } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { LinkQueue } from '../runtime/link-backlog.ts';
import { tags } from './transaction-route-parts.ts';

type Ports = { acquiring: Pick<Acquiring, 'listLinks'>; linkQueue: Pick<LinkQueue, 'backlog'> };

async function listLinkStates({ acquiring, linkQueue }: Ports, organizationId: string) {
  const backlogs = await linkQueue.backlog(organizationId);
  const items = acquiring.listLinks(organizationId).map((link) => {
    const { linkId, name, available, connections, clientCertificateExpiresAt, faults } = link;
    const backlog = backlogs.find((each) => each.linkId === linkId);
    const { length = 0, attempts = 0, alerts: alarms = 0, oldestAt } = backlog ?? {};
    return {
      acquirerLinkId: linkId,
      name,
      available,
      ...defined({ connections }),
      queue: { length, ...defined({ oldestAt }), attempts, alarms },
      alarm: alarms > 0,
      ...defined({
        clientCertificateExpiresAt:
          clientCertificateExpiresAt === undefined
            ? undefined
            : isoTime(clientCertificateExpiresAt),
      }),
      ...(faults.length === 0 ? {} : { faults: [...faults] }),
    };
  });
  return { items };
}

export function registerLinkRoutes(app: FastifyInstance, ports: Ports): void {
  route(app, {
    method: 'GET',
    url: '/payment/v1/acquirer-links',
    operationId: 'listAcquirerLinkStates',
    summary: 'List the states of the acquirer links',
    description:
      'Availability and queue of each link. Reversals, captures and other messages are sent in order until the acquirer responds. An alarm means that six attempts of one message had no final response. `faults` names settings of the link that cannot be used, such as a key for another purpose.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    response: { 200: AcquirerLinkStates },
    errors: ['permission_denied', 'database_unavailable'],
    async handler({ caller }) {
      if (caller.merchantId !== undefined) {
        refuse('permission_denied', 'Acquirer links are visible to organisation callers only.');
      }
      return listLinkStates(ports, caller.organizationId);
    },
  });
}
