/** Builds the curl commands that get an access token, with placeholders for secrets. */
import type { Application } from '@switchyard/contract';
import { shellCommand, shellQuote } from '../../components/values/shell-command.ts';

/** The used members of the OpenID discovery document. */
export type TokenEndpoints = {
  readonly issuer: string;
  readonly token_endpoint: string;
  readonly authorization_endpoint: string;
  readonly mtls_endpoint_aliases?: { readonly token_endpoint?: string };
};

export type TokenCommand = {
  readonly name: 'itself' | 'code' | 'password' | 'device';
  readonly text: string;
};

const curl = (address: string, parts: readonly string[]) =>
  shellCommand(`curl ${shellQuote(address)}`, parts);
const form = (name: string, value: string) => `--data-urlencode ${shellQuote(`${name}=${value}`)}`;

const certificate = ['--cert device.crt', '--key device.key'];

export function tokenCommands(
  { clientId, clientType, securityFlows, redirectUris }: Application,
  addresses: TokenEndpoints,
  isOfDevices: boolean,
): TokenCommand[] {
  const { token_endpoint: token, authorization_endpoint: authorization } = addresses;
  const byDevice = addresses.mtls_endpoint_aliases?.token_endpoint;
  const isPublic = clientType === 'Public';
  const id = form('client_id', clientId);
  const secret = isPublic ? [] : [form('client_secret', '<CLIENT_SECRET>')];
  const calls: TokenCommand[] = [];
  if (isOfDevices) {
    if (byDevice === undefined) return [];
    const parts = [form('grant_type', 'client_credentials'), id];
    const secretField = form('client_secret', '<SECRET OF merchants-credentials>');
    return [{ name: 'device', text: curl(byDevice, [...certificate, ...parts, secretField]) }];
  }
  if (securityFlows.includes('ClientCredentials')) {
    const parts = [form('grant_type', 'client_credentials'), id, ...secret];
    calls.push({ name: 'itself', text: curl(token, parts) });
  }
  if (securityFlows.includes('AuthorizationCode')) {
    const to = redirectUris[0] ?? '<REDIRECT_URI>';
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: to,
      response_type: 'code',
      scope: 'openid profile email',
      state: '<STATE>',
      ...(isPublic ? { code_challenge: '<CHALLENGE>', code_challenge_method: 'S256' } : {}),
    });
    const parts = [
      form('grant_type', 'authorization_code'),
      id,
      ...secret,
      form('redirect_uri', to),
      form('code', '<CODE>'),
      ...(isPublic ? [form('code_verifier', '<VERIFIER>')] : []),
    ];
    calls.push({ name: 'code', text: `${authorization}?${query}\n\n${curl(token, parts)}` });
  }
  if (securityFlows.includes('Password')) {
    const parts = [
      form('grant_type', 'password'),
      id,
      ...secret,
      form('username', '<USERNAME>'),
      form('password', '<PASSWORD>'),
      form('totp', '<CODE>'),
    ];
    calls.push({ name: 'password', text: curl(token, parts) });
    if (byDevice !== undefined) {
      calls.push({ name: 'device', text: curl(byDevice, [...certificate, ...parts]) });
    }
  }
  return calls;
}
