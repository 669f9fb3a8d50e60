// The ways to a token that are measured, each with its target and its requests.
import { request } from 'node:https';
import { defined } from '@switchyard/contract';
import { persistentConnections, type TokenEnvironment } from './token-environment.ts';
import type { TokenLoadOrder } from './token-messages.ts';

export const tokenTargets = {
  bare: undefined,
  'client-credentials': 2500,
  refresh: 1000,
  password: 60,
  mtls: undefined,
  'mtls-handshake': undefined,
} as const;

export type TokenCaseName = keyof typeof tokenTargets;
export const tokenCaseNames = Object.keys(tokenTargets) as TokenCaseName[];

export type TokenCase = { name: TokenCaseName; work: TokenLoadOrder };

/** More would only wait: the server checks a bounded number of passwords at once. */
const passwordConnections = 8;

const formOf = (members: Record<string, string>) => new URLSearchParams(members).toString();

function clientForms({ provision }: TokenEnvironment): string[] {
  return provision.applications.map(({ clientId, clientSecret }) =>
    formOf({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
  );
}

function passwordForms({ provision }: TokenEnvironment): string[] {
  return provision.users.map(({ username, password, clientId }) =>
    formOf({ grant_type: 'password', client_id: clientId, username, password }),
  );
}

function post(target: TokenLoadOrder['target'], form: string): Promise<string> {
  const { host, port, path, ca, authority } = target;
  return new Promise((resolve, reject) => {
    const clientRequest = request({
      host,
      port,
      path,
      ca,
      servername: 'localhost',
      method: 'POST',
      agent: false,
      headers: {
        host: authority,
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': form.length,
      },
    });
    clientRequest.on('error', reject);
    clientRequest.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    clientRequest.end(form);
  });
}

/** One sign-in for each connection: from then on its refresh tokens follow from each other. */
async function beginChains(scene: TokenEnvironment): Promise<TokenLoadOrder['chains']> {
  const target = scene.target(`/oauth2/v1/${scene.provision.realm}/token`);
  const forms = passwordForms(scene);
  const { users } = scene.provision;
  const chains: { clientId: string; refreshToken: string }[] = [];
  for (let index = 0; index < persistentConnections; index += 1) {
    const answer = await post(target, forms[index % forms.length] ?? '');
    const refreshToken = /"refresh_token":"([^"]+)"/.exec(answer)?.[1];
    if (refreshToken === undefined) throw new Error(`no refresh token: ${answer}`);
    chains.push({ clientId: users[index % users.length]?.clientId ?? '', refreshToken });
  }
  return chains;
}

/** The bare line first, so that each round begins with it. */
export async function createTokenCases(
  scene: TokenEnvironment,
  caseNames: readonly TokenCaseName[],
): Promise<TokenCase[]> {
  const target = scene.target(`/oauth2/v1/${scene.provision.realm}/token`);
  const persistent = { target, connections: persistentConnections, newHandshakes: false };
  const devices = {
    ...persistent,
    target: scene.target('/oauth2-mtls/v1/token', 'devices'),
    forms: [],
    devices: scene.devices,
  };
  const works: Record<TokenCaseName, () => Promise<Omit<TokenLoadOrder, 'name'>>> = {
    bare: async () => ({
      ...persistent,
      target: scene.target('/token', 'bare'),
      forms: clientForms(scene),
    }),
    'client-credentials': async () => ({ ...persistent, forms: clientForms(scene) }),
    refresh: async () => {
      const chains = await beginChains(scene);
      return { ...persistent, forms: [], ...defined({ chains }) };
    },
    password: async () => ({
      ...persistent,
      forms: passwordForms(scene),
      connections: passwordConnections,
    }),
    mtls: async () => devices,
    'mtls-handshake': async () => ({ ...devices, newHandshakes: true }),
  };
  const parts: TokenCase[] = [];
  for (const name of tokenCaseNames) {
    if (name === 'bare' || caseNames.includes(name)) {
      parts.push({ name, work: { name, ...(await works[name]()) } });
    }
  }
  return parts;
}
