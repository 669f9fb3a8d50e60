// HTTP routes for the operator of the platform to approve acquirer links of tenants.
import { AcquirerLinkApproval, AcquirerLinkApprovalInput } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { registerResourceRoutes, route } from '../../http/index.ts';
import type { AcquirerLinkApprovals } from './acquirer-link-approvals.ts';

const path = '/provisioning/v2/acquirer-link-approvals';
const tags = ['Provisioning'] as const;
const identifiers = {
  acquirerLinkId: Type.String({ maxLength: 64, description: 'The acquirer link.' }),
};

export function registerAcquirerLinkApprovalRoutes(
  app: FastifyInstance,
  approvals: AcquirerLinkApprovals,
): void {
  registerResourceRoutes(app, {
    path,
    singular: 'AcquirerLinkApproval',
    plural: 'AcquirerLinkApprovals',
    tags,
    readPermission: 'onb.approve',
    identifiers,
    view: AcquirerLinkApproval,
    notFoundCode: 'resource_not_found',
    scope: ({ caller }) => caller,
    list: {
      summary: 'List the acquirer links that wait for approval',
      description:
        'Acquirer links of all organisations that are PendingApproval. For the operator of the platform; the list of any other organisation is empty.',
      run: (caller, _filters, page) => approvals.list(caller, page),
    },
  });

  route(app, {
    method: 'POST',
    url: `${path}/:acquirerLinkId/approve`,
    operationId: 'approveAcquirerLink',
    summary: 'Approve an acquirer link',
    description:
      'For the operator of the platform. The body repeats the host and port of the link; 409 if the link leads to another host or port now. The platform connects to the host within ten seconds. Approving again changes nothing.',
    tags,
    permission: 'onb.approve',
    params: Type.Object(identifiers),
    body: AcquirerLinkApprovalInput,
    response: { 200: AcquirerLinkApproval },
    errors: ['resource_not_found', 'concurrent_modification'],
    faultOutcome: 'NotProcessed',
    handler: (request) => approvals.approve(request, request.params.acquirerLinkId, request.body),
  });
}
