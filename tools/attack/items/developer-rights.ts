// Item 5: a developer gets no application that sells, refunds or administers, by API or portal.
import type { Attack, Attempts } from '../attack.ts';
import { describeResponse, isClientError } from '../describe-response.ts';
import type { Organization, Production } from '../platforms.ts';
import { formBody } from '../requests.ts';
import { openSignInBrowser } from '../sign-in-browser.ts';

const paymentRoles = [
  'Merchant',
  'MerchantReadOnly',
  'MerchantDeveloper',
  'PointOfSaleTerminal',
  'Device',
];
const managementRoles = ['AcquirerAdministrator', 'Onboarding', 'PlatformOperator'];

type Answer = {
  readonly status: number;
  readonly text: string;
  readonly body?: Record<string, unknown>;
};
type SendRequest = (method: string, path: string, body?: unknown) => Promise<Answer>;

type Credentials = { readonly clientId: string; readonly clientSecret: string };

/** @returns the access token if the application gets one */
async function tokenOf(
  { call }: Production,
  realm: string,
  { clientId, clientSecret }: Credentials,
) {
  const form = formBody({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  });
  const answer = await call(undefined, 'POST', `/oauth2/v1/${realm}/token`, form);
  return { token: answer.body?.access_token as string | undefined, answer };
}

/** No permission without a token. */
function grantedPermissions(token: string | undefined): readonly string[] {
  if (token === undefined) return [];
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
  return (JSON.parse(payload) as { permissions: readonly string[] }).permissions;
}

async function registerApplications(
  attempts: Attempts,
  production: Production,
  { realm, organizationId }: Organization,
  {
    sendRequest,
    channel,
    merchantId,
  }: { sendRequest: SendRequest; channel: string; merchantId: string },
): Promise<void> {
  const applications = `/application-management/v1/user-domains/${realm}/applications`;
  const recordTokenAttempt = async (description: string, made: Answer) => {
    const credentials = made.body as unknown as Credentials;
    const { token, answer } = await tokenOf(production, realm, credentials);
    const isRefused = token === undefined && isClientError(answer.status) && made.status < 500;
    const response = `${channel}: ${describeResponse(made)}, token: ${describeResponse(answer)}`;
    attempts.record({ description, response, isDefended: isRefused });
  };
  for (const role of [...paymentRoles, ...managementRoles]) {
    for (const entityId of [merchantId, organizationId]) {
      const applicationDraft = {
        name: 'Till',
        roles: [role],
        entityId,
        securityFlows: ['ClientCredentials'],
      };
      await recordTokenAttempt(
        `${role} for ${entityId}`,
        await sendRequest('POST', applications, applicationDraft),
      );
      await recordTokenAttempt(
        `${role} with status Enabled`,
        await sendRequest('POST', applications, { ...applicationDraft, status: 'Enabled' }),
      );
    }
    // An application without rights that gets them later.
    const plain = await sendRequest('POST', applications, { name: 'Plain', entityId: merchantId });
    attempts.requireControl(
      `the developer creates an application without roles (${channel}): ${describeResponse(plain)}`,
      plain.status === 201,
    );
    const { clientId, clientSecret } = plain.body as unknown as Credentials;
    const applicationPath = `${applications}/${clientId}`;
    const changes = { name: 'Plain', roles: [role], securityFlows: ['ClientCredentials'] };
    const changed = await sendRequest('PUT', applicationPath, { ...changes, status: 'Enabled' });
    const { token, answer } = await tokenOf(production, realm, { clientId, clientSecret });
    attempts.record({
      description: `${role} added to an application: [${grantedPermissions(token)}]`,
      response: `${channel}: added role ${describeResponse(changed)}, token: ${describeResponse(answer)}`,
      isDefended:
        changed.status < 500 && answer.status < 500 && grantedPermissions(token).length === 0,
    });
    for (const [method, path] of [
      ['POST', `${applicationPath}/approve`],
      ['POST', `${applicationPath}/secret`],
    ] as const) {
      const response = await sendRequest(method, path);
      const after = await tokenOf(production, realm, {
        clientId,
        clientSecret: String(response.body?.['clientSecret'] ?? clientSecret),
      });
      const granted = grantedPermissions(after.token);
      attempts.record({
        description: `${method} ${path} for ${role}: [${granted}]`,
        response: `${channel}: ${path.split('/').at(-1)} ${describeResponse(response)}`,
        isDefended: response.status < 500 && after.answer.status < 500 && granted.length === 0,
      });
    }
  }
}

/** Takes the secret of the application of another user, which has rights to payments. */
async function renewSecret(
  attempts: Attempts,
  production: Production,
  sendRequest: SendRequest,
  channel: string,
  merchantId: string,
) {
  const { victim, create } = production;
  const { realm, token } = victim;
  const applications = `/application-management/v1/user-domains/${realm}/applications`;
  const made = await create(token, applications, {
    name: 'Shop',
    roles: ['Merchant'],
    entityId: merchantId,
  });
  const answer = await sendRequest('POST', `${applications}/${made.clientId}/secret`);
  attempts.record({
    description: 'a new secret of an application that pays',
    response: `${channel}: secret of an enabled application ${describeResponse(answer)}`,
    isDefended: answer.status === 403,
  });
  const { token: ownToken } = await tokenOf(production, realm, made);
  attempts.requireControl(
    'the application of the administrator gets tokens',
    ownToken !== undefined,
  );
}

export const developerRightsAttack: Attack = {
  item: 5,
  name: 'a developer registers applications with rights to payments',
  async run(attempts, platforms) {
    const production = await platforms.production();
    const { call, create, createUser, signIn, victim } = production;
    const merchant = { name: 'Shop', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
    const { merchantId } = await create(victim.token, '/provisioning/v2/merchants', merchant);
    const developer = await createUser(victim, 'org_dev');
    const token = await signIn(victim, developer);
    const byApi: SendRequest = (method, path, body) =>
      call(token, method, path, body === undefined ? {} : { body });
    await registerApplications(attempts, production, victim, {
      sendRequest: byApi,
      channel: 'API',
      merchantId,
    });
    await renewSecret(attempts, production, byApi, 'API', merchantId);
    const signInBrowser = openSignInBrowser(production);
    try {
      await signInBrowser.signInAtPortal(victim, developer);
      await registerApplications(attempts, production, victim, {
        sendRequest: signInBrowser.callFromPortal,
        channel: 'portal',
        merchantId,
      });
      await renewSecret(attempts, production, signInBrowser.callFromPortal, 'portal', merchantId);
    } finally {
      signInBrowser.close();
    }
  },
};
