// The route that tells how the acquirer links stand, and what waits for them.
import { AcquirerLinkStates, defined, refuse } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { route } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import type { Lanes, Queue } from '../recovery/link-queue.ts';
import { tags } from './route-schemas.ts';

type Deps = Pick<PaymentsDeps, 'acquiring'> & { lanes: Lanes };

const emptyQueue = { length: 0, attempts: 0, alarms: 0 };

const shown = (queue: Queue | undefined) => {
  if (queue === undefined) return emptyQueue;
  const { linkId: _linkId, ...rest } = queue;
  return rest;
};

async function linkStates({ acquiring, lanes }: Deps, organizationId: string) {
  const queues = new Map((await lanes.queues(organizationId)).map((each) => [each.linkId, each]));
  const open = acquiring.openOf(organizationId);
  const items = open.map((link) => {
    const { linkId, name, available, connections, clientCertificateExpiresAt, faults } = link;
    const queue = shown(queues.get(linkId));
    return {
      acquirerLinkId: linkId,
      name,
      available,
      ...defined({ connections }),
      queue,
      alarm: queue.alarms > 0,
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

export function registerLinks(app: FastifyInstance, deps: Deps): void {
  route(app, {
    method: 'GET',
    url: '/payment/v1/acquirer-links',
    operationId: 'listAcquirerLinkStates',
    summary: 'How the acquirer links stand',
    description:
      'Whether each link can be reached, and what waits for it: reversals, captures and other messages that are sent in order until the acquirer has answered. An alarm means that one of them has had no success for six tries. `faults` names settings of the link that cannot be used, such as a key for another purpose.',
    tags,
    permission: 'rep.read',
    priority: 'list',
    response: { 200: AcquirerLinkStates },
    errors: ['permission_denied', 'database_unavailable'],
    async handler({ caller }) {
      if (caller.merchantId !== undefined) {
        refuse('permission_denied', 'Only the organisation sees its acquirer links.');
      }
      return linkStates(deps, caller.organizationId);
    },
  });
}
