// Authenticates a client at the endpoints that oidc-provider does not serve (RFC 6749, 2.3.1).

import type { Application } from '../../clients/application-record.ts';
import type { Applications } from '../../clients/applications.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';

type Credentials = { readonly clientId: string; readonly secret: string | undefined };

export const basicChallenge = (issuer: string): string => `Basic realm="${issuer}"`;

const basicPattern = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i;

function decodeFormComponent(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function basicCredentials(authorization: string): Credentials | undefined {
  const encoded = basicPattern.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString();
  const end = pair.indexOf(':');
  const clientId = decodeFormComponent(pair.slice(0, end));
  const secret = decodeFormComponent(pair.slice(end + 1));
  if (end === -1 || clientId === undefined || !secret) return undefined;
  return { clientId, secret };
}

/** Credentials from the header or the form; undefined if both or neither. */
function credentialsOf(
  authorization: string | undefined,
  form: Readonly<Record<string, string>>,
): Credentials | undefined {
  const { client_id: formClientId, client_secret: secret } = form;
  if (authorization === undefined) {
    return formClientId === undefined ? undefined : { clientId: formClientId, secret };
  }
  const headerCredentials = secret === undefined ? basicCredentials(authorization) : undefined;
  return formClientId === undefined || formClientId === headerCredentials?.clientId
    ? headerCredentials
    : undefined;
}

export type AuthenticateClient = (
  realm: Realm,
  authorization: string | undefined,
  form: Readonly<Record<string, string>>,
) => Promise<Application | undefined>;

/** A public client authenticates by its client id, as at the token endpoint. */
export function createAuthenticateClient(
  applications: Pick<Applications, 'find' | 'verifySecret'>,
): AuthenticateClient {
  return async ({ organizationId }, authorization, form) => {
    const credentials = credentialsOf(authorization, form);
    if (credentials === undefined) return undefined;
    const { clientId, secret } = credentials;
    const application = await applications.find(organizationId, clientId);
    if (application?.status !== 'Enabled') return undefined;
    if (application.secretHash === undefined) return secret ? undefined : application;
    const isValidSecret =
      secret && (await applications.verifySecret(organizationId, clientId, secret));
    return isValidSecret ? application : undefined;
  };
}
