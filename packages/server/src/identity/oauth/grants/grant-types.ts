// The table of grants. To add one, write its file and list it here.
import type { SecurityFlow } from '../../clients/application-record.ts';
import { authorizationCodeGrant } from './authorization-code.ts';
import { clientCredentialsGrant } from './client-credentials.ts';
import type { Grant } from './grant.ts';
import { passwordGrant } from './password.ts';
import { refreshTokenGrant } from './refresh-token.ts';

export const grants: readonly Grant[] = [
  authorizationCodeGrant,
  clientCredentialsGrant,
  passwordGrant,
  refreshTokenGrant,
];

export function grantTypesOf(flows: readonly SecurityFlow[]): string[] {
  return grants
    .filter((grant) => grant.securityFlows.some((flow) => flows.includes(flow)))
    .map((grant) => grant.grantType);
}
