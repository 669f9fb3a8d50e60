// Authenticates a client at the endpoints that the library does not serve (RFC 6749, 2.3.1).

import type { Application } from '../../clients/application.ts';
import type { Applications } from '../../clients/applications.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';

type Credentials = { readonly clientId: string; readonly secret: string | undefined };

export const basicChallenge = (issuer: string): string => `Basic realm="${issuer}"`;

const basicForm = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i;

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function fromHeader(authorization: string): Credentials | undefined {
  const encoded = basicForm.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString();
  const end = pair.indexOf(':');
  const clientId = decoded(pair.slice(0, end));
  const secret = decoded(pair.slice(end + 1));
  if (end === -1 || clientId === undefined || !secret) return undefined;
  return { clientId, secret };
}

/** By one way alone; undefined for anything else. */
function credentialsOf(
  authorization: string | undefined,
  form: Readonly<Record<string, string>>,
): Credentials | undefined {
  const { client_id: named, client_secret: secret } = form;
  if (authorization === undefined) {
    return named === undefined ? undefined : { clientId: named, secret };
  }
  const found = secret === undefined ? fromHeader(authorization) : undefined;
  return named === undefined || named === found?.clientId ? found : undefined;
}

export type AuthenticateClient = (
  realm: Realm,
  authorization: string | undefined,
  form: Readonly<Record<string, string>>,
) => Promise<Application | undefined>;

/** A client that can keep no secret is believed its name, as at the token endpoint. */
export function createAuthenticateClient(
  applications: Pick<Applications, 'find' | 'checkSecret'>,
): AuthenticateClient {
  return async ({ organizationId }, authorization, form) => {
    const credentials = credentialsOf(authorization, form);
    if (credentials === undefined) return undefined;
    const { clientId, secret } = credentials;
    const application = await applications.find(organizationId, clientId);
    if (application?.status !== 'Enabled') return undefined;
    if (application.secretHash === undefined) return secret ? undefined : application;
    const isRight = secret && (await applications.checkSecret(organizationId, clientId, secret));
    return isRight ? application : undefined;
  };
}
