// HTTP routes for terminal claims: a user enters a code, and the operator resolves conflicts.
import {
  ClaimConflict,
  ClaimSettlement,
  claimConflictFilters,
  PhysicalDevice,
  TerminalClaimInput,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { registerResourceRoutes, route, sendWithETag } from '../../http/index.ts';
import { toCallerScope } from '../resources/caller-scope.ts';
import type { TerminalClaims } from './terminal-claims.ts';

const base = '/provisioning/v2';
const conflictsPath = `${base}/claim-conflicts`;
const tags = ['Device security'] as const;
const conflictIdentifiers = {
  conflictId: Type.String({ maxLength: 64, description: 'The conflict.' }),
};

export function registerTerminalClaimRoutes(app: FastifyInstance, claims: TerminalClaims): void {
  route(app, {
    method: 'POST',
    url: `${base}/physical-devices/:physicalDeviceId/claim`,
    operationId: 'claimTerminal',
    summary: 'Claim a terminal',
    description:
      'The terminal sends its claim code to the platform and shows it; a user enters it here within 15 minutes. The device becomes Claimed; a claimed device does not change. Every refusal has the same code, claim_code_invalid.',
    tags,
    permission: ['dev.write', 'prov.write'],
    params: Type.Object({
      physicalDeviceId: Type.String({ maxLength: 64, description: 'The physical device.' }),
    }),
    body: TerminalClaimInput,
    response: { 200: PhysicalDevice },
    responseHeaders: { 200: ['ETag'] },
    errors: ['device_not_found', 'claim_code_invalid', 'rate_limited'],
    faultOutcome: 'NotProcessed',
    async handler({ caller, id, params, body }, reply) {
      const scope = toCallerScope(caller, id);
      return sendWithETag(
        reply,
        await claims.claimByCode(scope, params.physicalDeviceId, body.claimCode),
      );
    },
  });

  registerResourceRoutes(app, {
    path: conflictsPath,
    singular: 'ClaimConflict',
    plural: 'ClaimConflicts',
    tags,
    readPermission: 'onb.approve',
    identifiers: conflictIdentifiers,
    view: ClaimConflict,
    notFoundCode: 'resource_not_found',
    scope: ({ caller }) => caller,
    list: {
      description:
        'Terminals that two organisations have proved to have. For the operator of the platform; the list of any other organisation is empty.',
      filters: claimConflictFilters,
      run: (caller, { status }, page) => claims.conflicts.list(caller, page, status),
    },
    get: {
      description: 'For the operator of the platform.',
      run: async (caller, id) => ({ view: await claims.conflicts.get(caller, id) }),
    },
  });

  route(app, {
    method: 'POST',
    url: `${conflictsPath}/:conflictId/settle`,
    operationId: 'resolveClaimConflict',
    summary: 'Resolve a claim conflict',
    description:
      'For the operator of the platform. The same decision again changes nothing. With GiveToClaimant the terminal of the former holder loses its connections within half a minute.',
    tags,
    permission: 'onb.approve',
    params: Type.Object(conflictIdentifiers),
    body: ClaimSettlement,
    response: { 200: ClaimConflict },
    errors: ['resource_not_found', 'concurrent_modification'],
    faultOutcome: 'NotProcessed',
    handler: (request) =>
      claims.conflicts.settle(request, request.params.conflictId, request.body.decision),
  });
}
