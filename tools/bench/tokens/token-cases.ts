// The kinds of tokens that are measured, each with its requests.
import { type TokenCaseName, tokenCaseNames } from '../bench-options.ts';
import { clientForm, fetchToken, tokenPath } from '../environment/https-request.ts';
import { persistentConnections, type TokenEnvironment } from './token-environment.ts';
import type { Form, TokenLoadOrder } from './token-load.ts';

/** More would only wait: the server checks a bounded number of passwords at once. */
const passwordConnections = 8;

const passwordForms = ({ provision }: TokenEnvironment): Form[] =>
  provision.users.map(({ username, password, clientId }) => ({
    grant_type: 'password',
    client_id: clientId,
    username,
    password,
  }));

/** One sign-in for each connection: from then on its refresh tokens follow from each other. */
async function beginChains({ server, provision }: TokenEnvironment, forms: readonly Form[]) {
  const chains: { clientId: string; refreshToken: string }[] = [];
  for (let index = 0; index < persistentConnections; index += 1) {
    const form = forms[index % forms.length] ?? {};
    const { refreshToken } = await fetchToken(server.target, tokenPath(provision.realm), form);
    chains.push({ clientId: form['client_id'] ?? '', refreshToken });
  }
  return chains;
}

/** The baseline first, so that each round begins with it. */
export async function createTokenCases(
  scene: TokenEnvironment,
  caseNames: readonly TokenCaseName[],
): Promise<TokenLoadOrder[]> {
  const { server, baselineTarget, deviceTarget, provision, devices } = scene;
  const connections = persistentConnections;
  const realm = { target: server.target, path: tokenPath(provision.realm), connections };
  const mutualTls = { target: deviceTarget, path: '/oauth2-mtls/v1/token', connections, devices };
  const clientForms = provision.applications.map(clientForm);
  const forms = passwordForms(scene);
  const isChosen = (name: TokenCaseName) => name === 'bare' || caseNames.includes(name);
  const orders: Record<TokenCaseName, Omit<TokenLoadOrder, 'name'>> = {
    bare: { target: baselineTarget, path: '/token', connections, forms: clientForms },
    'client-credentials': { ...realm, forms: clientForms },
    refresh: { ...realm, chains: isChosen('refresh') ? await beginChains(scene, forms) : [] },
    password: { ...realm, forms, connections: passwordConnections },
    mtls: mutualTls,
    'mtls-handshake': { ...mutualTls, newHandshakes: true },
  };
  return tokenCaseNames.filter(isChosen).map((name) => ({ name, ...orders[name] }));
}
