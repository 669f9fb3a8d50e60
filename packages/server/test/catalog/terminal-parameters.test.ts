// Whole run: devices, accounts or nodes are prepared for each test.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  terminalParameterDefaults,
  terminalParameterDomain,
  terminalParameterSchema,
  testCaKeyValues,
} from '@switchyard/emv';
import { emvValueRules } from '../../src/catalog/index.ts';
import {
  devicePath,
  type Level,
  openFleet,
  type TestFleet,
} from '../support/provisioning/test-device-configuration.ts';

let setup: TestFleet;
let serviceId: string;
const declaration = {
  name: 'EMV terminal parameters',
  domain: terminalParameterDomain,
  parameterSchema: terminalParameterSchema,
  defaults: { ...terminalParameterDefaults, caKeys: testCaKeyValues() },
};
before(async () => {
  setup = await openFleet();
  serviceId = await setup.service(declaration);
});
after(() => setup.close());

// biome-ignore lint/suspicious/noExplicitAny: tests reach into values of many shapes
type Values = any;

async function readDeliveredService(
  terminal: Awaited<ReturnType<TestFleet['terminal']>>,
): Promise<Values> {
  const { body } = await terminal.ask('GET', devicePath);
  return body.services.find((one: { serviceId: string }) => one.serviceId === serviceId);
}

test('without a country nothing is delivered; then applications, keys and the category are', async () => {
  const terminal = await setup.terminal();
  assert.equal((await readDeliveredService(terminal)).status, 'Held');
  const organization = ['organizations', setup.organizationId] as const;
  const set = await setup.configure(...organization, serviceId, {
    terminal: { countryCode: '528' },
  });
  assert.equal(set.status < 300, true, JSON.stringify(set.body));
  const service = await readDeliveredService(terminal);
  assert.equal(service.status, 'Ready');
  const { terminal: terminalValues, caKeys, applications } = service.values;
  // All test merchants have a category code.
  assert.match(terminalValues.merchantCategoryCode, /^[0-9]{4}$/);
  assert.equal(terminalValues.countryCode, '528');
  assert.equal(Object.keys(caKeys).length, 20);
  assert.equal(applications['A0000000031010'].tacOnline, 'DC4004F800');
  assert.deepEqual((await setup.verified(service))['values'], service.values);
});

// Spec: PROV-52
test('devices inherit a limit from their store, and the other values from higher levels', async () => {
  const terminal = await setup.terminal();
  const beside = await setup.terminal(terminal.merchantId);
  const { merchantId, storeId } = terminal;
  const visa = (cvmRequiredLimitMinor: number) => ({
    applications: { A0000000031010: { contactless: { cvmRequiredLimitMinor } } },
  });
  await setup.configure('merchants', merchantId, serviceId, {
    ...visa(4000),
    terminal: { countryCode: '250', merchantCategoryCode: '4111' },
  });
  await setup.configure('stores', storeId, serviceId, visa(2500));
  const limitOf = ({ values }: Values) => [
    values.applications.A0000000031010.contactless.cvmRequiredLimitMinor,
    values.applications.A0000000041010.contactless.cvmRequiredLimitMinor,
    values.terminal.countryCode,
    values.terminal.merchantCategoryCode,
  ];
  assert.deepEqual(limitOf(await readDeliveredService(terminal)), [2500, 5000, '250', '4111']);
  assert.deepEqual(limitOf(await readDeliveredService(beside)), [4000, 5000, '250', '4111']);

  const path = `/configuration/v1/stores/${storeId}/services/${serviceId}`;
  const { body } = await setup.api(path, { token: setup.token });
  const pointer = '/applications/A0000000031010/contactless/cvmRequiredLimitMinor';
  const source = body.effective.sources.find((one: { pointer: string }) => one.pointer === pointer);
  assert.deepEqual([source.level, source.entityId], ['Store', storeId]);
});

// Spec: PROV-52
test('values that terminals cannot work with are refused, with their place', async () => {
  const { merchantId, storeId } = await setup.terminal();
  const organization: [Level, string] = ['organizations', setup.organizationId];
  const merchant: [Level, string] = ['merchants', merchantId];
  const [name, key] = Object.entries(testCaKeyValues())[0] ?? ['', {}];
  const visa = (application: object) => ({ applications: { A0000000031010: application } });
  const cases: [[Level, string], object, string][] = [
    [merchant, { currency: 'XXZ' }, '/currency'],
    [merchant, { currency: 'eur' }, '/currency'],
    [merchant, visa({ contactless: { floorLimitMinor: -1 } }), '/contactless/floorLimitMinor'],
    [merchant, visa({ contactless: { floorLimitMinor: 600_000 } }), '/floorLimitMinor'],
    [merchant, visa({ priority: 1 }), '/priority'],
    [merchant, visa({ surprise: true }), '/A0000000031010'],
    [merchant, visa({ tacDenial: '0000000000' }), '/tacDenial'],
    [merchant, { applications: { A00000000: {} } }, '/applications'],
    [['stores', storeId], { caKeys: { [name]: { isEnabled: false } } }, '/caKeys'],
    [organization, { caKeys: { [name]: { ...key, sha1: '0'.repeat(40) } } }, '/sha1'],
    [organization, { caKeys: { [name]: { ...key, expiresOn: '2031-02-30' } } }, '/expiresOn'],
    [organization, { caKeys: { A00000000301: key } }, '/caKeys'],
  ];
  for (const [[level, entityId], values, pointer] of cases) {
    const answer = await setup.configure(level, entityId, serviceId, values);
    assert.equal(answer.status, 422, JSON.stringify([values, answer.body]));
    const answeredPointer = answer.body.errors[0].pointer;
    assert.ok(answeredPointer.includes(pointer), `${answeredPointer} for ${pointer}`);
  }
});

// Spec: PROV-52
test('the platform refuses a rule that removes the choice of the brand from the cardholder', async () => {
  const { merchantId } = await setup.terminal();
  const rule = (isCardholderChoice: boolean) => ({
    terminal: { countryCode: '250' },
    coBrandRules: [
      {
        name: 'CB with Visa',
        binFrom: '497000',
        binTo: '497999',
        isCardholderChoice,
        applications: ['A0000000421010', 'A0000000031010'],
      },
    ],
  });
  const path = ['merchants', merchantId, serviceId] as const;
  const refused = await setup.configure(...path, rule(false));
  assert.equal(refused.status, 422);
  assert.match(refused.body.errors[0].pointer, /isCardholderChoice$/);
  assert.ok((await setup.configure(...path, rule(true))).status < 300);
});

test('a key that was withdrawn is switched off for the whole organisation', async () => {
  const terminal = await setup.terminal();
  const organization = ['organizations', setup.organizationId, serviceId] as const;
  const terminalValues = { terminal: { countryCode: '528' } };
  const disabledKey = { caKeys: { 'A000000003-99': { isEnabled: false } } };
  assert.ok(
    (await setup.configure(...organization, { ...terminalValues, ...disabledKey })).status < 300,
  );
  const { values } = await readDeliveredService(terminal);
  assert.equal(values.caKeys['A000000003-99'].isEnabled, false);
  assert.equal(values.caKeys['A000000003-92'].isEnabled, true);
  await setup.configure(...organization, terminalValues);
});

// Spec: PROV-53
test('production takes no test key, neither as a default nor at a level', () => {
  const check = emvValueRules({ allowsTestKeys: false })[terminalParameterDomain];
  const faults = check?.(declaration.defaults) ?? [];
  assert.equal(faults.length, 20);
  assert.deepEqual(check?.({ ...terminalParameterDefaults }), []);
});
