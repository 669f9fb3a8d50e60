// A fleet of devices with certificates and tokens, and services configured for them.
import assert from 'node:assert/strict';
import { defined } from '@switchyard/contract';
import { createLocalJWKSet, flattenedVerify } from 'jose';
import {
  type Catalog,
  createCatalog,
  emvValueRules,
  scopeAuthoredByPlatform,
} from '../../../src/catalog/index.ts';
import { createLog, createOutgoingCalls, systemIdGenerator } from '../../../src/platform/index.ts';
import { createTestUser, passwordForm } from '../identity/test-users.ts';
import { testAudit } from '../test-audit.ts';
import {
  type Answer,
  type CertificateAndKey,
  openDevices,
  type TestDevices,
  type TestTerminal,
} from './test-devices.ts';

export type Terminal = TestTerminal & {
  /** Sends a request with a token of a machine that also sends its certificate. */
  ask(
    method: 'GET' | 'POST',
    path: string,
    more?: { json?: unknown; tag?: string },
  ): Promise<Answer>;
  readonly certificate: CertificateAndKey & { readonly thumbprint: string };
};

export type TestFleet = TestDevices & {
  readonly catalog: Catalog;
  /** Creates a service that is declared, published, subscribed and active in the organisation. */
  service(declaration?: object): Promise<string>;
  /** Publishes a new release of the service. */
  release(serviceId: string, declaration: object): Promise<void>;
  terminal(merchantId?: string): Promise<Terminal>;
  /** A token that a user of the merchant gets for a device, as in the demo. */
  customToken(device: TestTerminal): Promise<string>;
  configure(level: Level, entityId: string, serviceId: string, values: object): Promise<Answer>;
  verified(service: object): Promise<Record<string, unknown>>;
};

export type Level = 'organizations' | 'merchants' | 'stores' | 'logical-devices';

export const devicePath = '/configuration/v1/device';

const text = { type: 'string', maxLength: 40 };

export const receipts = {
  name: 'Receipts',
  domain: 'Receipts',
  parameterSchema: {
    type: 'object',
    properties: {
      footer: text,
      limits: { type: 'object', properties: { floor: { type: 'integer' } } },
    },
    required: ['footer'],
    additionalProperties: false,
  },
  defaults: { footer: 'Thank you', limits: { floor: 0 } },
};

export async function openFleet(): Promise<TestFleet> {
  let catalog: Catalog | undefined;
  const setup = await openDevices({
    register(app, { database, clock, provisioning, masterKey }) {
      catalog = createCatalog({
        database,
        clock,
        provisioning,
        masterKey,
        ids: systemIdGenerator,
        log: createLog({ logLevel: 'silent', instanceName: 'test' }),
        jobs: { handle() {}, async enqueue() {}, wake() {} },
        audit: testAudit(database, clock),
        calls: createOutgoingCalls({ allowsLoopback: true }),
        valueRules: emvValueRules({ allowsTestKeys: true }),
        baseUrl: 'https://localhost:8443',
      });
      catalog.register(app);
    },
  });
  assert.ok(catalog !== undefined);
  const { services, packagesAndSubscriptions: offers, activations } = catalog;
  const { organizationId, userDomainId, identity } = setup;
  const authoredScope = scopeAuthoredByPlatform(organizationId);
  const declared: string[] = [];

  /** A place created after the activation of a service needs its own activation. */
  async function activate(
    { merchantId, storeId }: TestTerminal,
    isNewMerchant: boolean,
  ): Promise<void> {
    for (const serviceId of declared) {
      if (isNewMerchant) {
        await activations.activate(authoredScope, {
          serviceId,
          level: 'Merchant',
          entityId: merchantId,
        });
      }
      await activations.activate(authoredScope, { serviceId, level: 'Store', entityId: storeId });
    }
  }

  return {
    ...setup,
    catalog,
    async service(declaration = receipts) {
      const { serviceId } = (await services.create(authoredScope, declaration as typeof receipts))
        .view;
      await services.publish(authoredScope, serviceId);
      const offer = await offers.createPackage(authoredScope, {
        name: 'Offer',
        serviceIds: [serviceId],
      });
      await offers.subscribe(authoredScope, offer.view.packageId);
      const level = { level: 'Organization', entityId: organizationId } as const;
      await activations.activate(authoredScope, { serviceId, ...level });
      declared.push(serviceId);
      return serviceId;
    },
    async release(serviceId, declaration) {
      await services.replace(authoredScope, serviceId, declaration as typeof receipts);
      await services.publish(authoredScope, serviceId);
    },
    async terminal(merchantId) {
      const device = await setup.createTerminal(defined({ merchantId }));
      await activate(device, merchantId === undefined);
      const certificate = await setup.certify(device.physicalDeviceId);
      const credentials = await setup.credentials(certificate);
      const form = { grant_type: 'client_credentials', ...credentials };
      const answer = await setup.device('/oauth2-mtls/v1/token', { form, certificate });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const token = answer.body.access_token;
      return {
        ...device,
        certificate,
        ask: (method, path, { json, tag } = {}) =>
          setup.api(path, {
            method,
            token,
            certificate,
            ...defined({ json, headers: tag === undefined ? undefined : { 'if-none-match': tag } }),
          }),
      };
    },
    async customToken({ merchantId, tsn }) {
      const where = { identity, organizationId, userDomainId };
      const { clientId } = await identity.createPublicApplication({
        organizationId,
        userDomainId,
        name: 'Device',
        entityType: 'tenant',
        entityId: organizationId,
        roles: [],
        securityFlows: ['Password'],
      });
      const manager = await createTestUser(where, { merchantId });
      const form = passwordForm(manager, clientId);
      const { body } = await setup.api(`/oauth2/v1/${userDomainId}/token`, { form });
      const formFields = { device_model: 'AXIUM_DX8000', device_id: tsn, method: 'api' };
      const path = `/auth/realms/${userDomainId}/custom-token`;
      const answer = await setup.api(path, { form: formFields, token: body.access_token });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body.access_token;
    },
    configure: (level, entityId, serviceId, values) =>
      setup.api(`/configuration/v1/${level}/${entityId}/services/${serviceId}`, {
        token: setup.token,
        json: { values },
      }),
    async verified(service) {
      const { body } = await setup.api('/configuration/v1/keys');
      const { payload } = await flattenedVerify(
        service as Parameters<typeof flattenedVerify>[0],
        createLocalJWKSet(body),
      );
      return JSON.parse(new TextDecoder().decode(payload));
    },
  };
}
