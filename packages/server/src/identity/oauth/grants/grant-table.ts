// The table of grants. To add one, write its file and list it here.
import type { SecurityFlow } from '../../clients/application.ts';
import { authorizationCode } from './authorization-code.ts';
import { clientCredentials } from './client-credentials.ts';
import type { Grant } from './grant.ts';
import { password } from './password.ts';
import { refreshToken } from './refresh-token.ts';

export const grants: readonly Grant[] = [
  authorizationCode,
  clientCredentials,
  password,
  refreshToken,
];

export function grantTypesOf(flows: readonly SecurityFlow[]): string[] {
  return grants
    .filter((grant) => grant.securityFlows.some((flow) => flows.includes(flow)))
    .map((grant) => grant.grantType);
}
