// Routes of approval codes.
import {
  ApprovalCode,
  ApprovalCodeInput,
  type ErrorCode,
  NewApprovalCode,
  pageOf,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import type { ApprovalCodeManager } from '../approvals/manage-approval-codes.ts';
import { idParams, optionalId, queryOf, tags } from './transaction-route-parts.ts';

const base = '/payment/v1/approval-codes';
const shared = { tags, permission: 'pay.approve' } as const;
const scopeErrors: ErrorCode[] = ['entity_out_of_scope', 'database_unavailable'];
const oneCode = {
  ...shared,
  url: `${base}/:approvalCodeId`,
  params: idParams('approvalCodeId'),
  response: { 200: ApprovalCode },
  errors: [...scopeErrors, 'resource_not_found'],
} as const;

export function registerApprovalCodes(app: FastifyInstance, codes: ApprovalCodeManager): void {
  route(app, {
    ...shared,
    method: 'POST',
    url: base,
    operationId: 'createApprovalCode',
    summary: 'Create an approval code',
    description:
      'With it a supervisor approves refunds and cancels at a terminal. The code is shown this once; a merchant makes codes for its own stores.',
    takesIdempotencyKey: true,
    body: ApprovalCodeInput,
    examples: {
      'For one refund': { name: 'Shift lead', oneTime: true, maxAmount: 20_000, currency: 'EUR' },
    },
    response: { 201: NewApprovalCode },
    errors: [...scopeErrors, 'merchant_not_found', 'store_not_found', 'currency_unknown'],
    async handler(request, reply) {
      const createdCode = await codes.create(request, request.body);
      const location = `${base}/${createdCode.approvalCodeId}`;
      reply.code(201).headers({ location, 'cache-control': 'no-store' });
      return createdCode;
    },
  });
  route(app, {
    ...shared,
    method: 'GET',
    url: base,
    operationId: 'listApprovalCodes',
    summary: 'List the approval codes',
    description: 'In the order of making, without the codes themselves.',
    priority: 'list',
    query: queryOf({
      ...pageQuery,
      merchantId: optionalId(),
      includeRevoked: Type.Optional(Type.Boolean()),
    }),
    response: { 200: pageOf(ApprovalCode) },
    errors: [...scopeErrors, 'cursor_invalid'],
    async handler({ caller, query }) {
      const page = await codes.list(caller, query, readPageRequest(query, 'listApprovalCodes'));
      return pageResponse(page, query, 'listApprovalCodes');
    },
  });
  route(app, {
    ...oneCode,
    method: 'GET',
    operationId: 'getApprovalCode',
    summary: 'Get an approval code',
    handler: ({ caller, params: { approvalCodeId } }) => codes.get(caller, approvalCodeId),
  });
  route(app, {
    ...oneCode,
    method: 'DELETE',
    operationId: 'revokeApprovalCode',
    summary: 'Revoke an approval code',
    description: 'It approves nothing from now on. Revoking twice is the same as once.',
    bodyOptional: true,
    handler: (request) => codes.revoke(request, request.params.approvalCodeId),
  });
}
