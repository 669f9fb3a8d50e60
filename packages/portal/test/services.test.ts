// The small rules of the service screens: forms from schemas, standings, declarations, the tour.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type GroupName,
  groupPermissions,
  parseJsonObject,
  type Service,
  type ServiceActivation,
  type ServiceCalls,
} from '@switchyard/contract';
import { formDraft, isComplete, requestBody } from '../src/components/forms/form-fields.ts';
import {
  fieldKindOf,
  fieldLabel,
  schemaFields,
  withFieldValue,
} from '../src/components/forms/schema-fields.ts';
import { callsByHour } from '../src/screens/provider-services/calls-by-hour.ts';
import { maxLogoBytes, readLogo } from '../src/screens/provider-services/read-logo.ts';
import { jsonExamples, serviceFields } from '../src/screens/provider-services/service-sections.ts';
import {
  serviceStatus,
  serviceStatusForMerchant,
  subscribedServiceIds,
} from '../src/screens/services/service-status.ts';
import { readTour } from '../src/screens/tour/tour-state.ts';
import { tourStepsFor } from '../src/screens/tour/tour-steps.ts';
import { screens } from '../src/screens.ts';

const service: Service = {
  serviceId: 's-1',
  organizationId: 'o-1',
  name: 'Points',
  domain: 'Loyalty',
  methods: [],
  paymentTypes: ['points'],
  events: [],
  status: 'Published',
  release: 1,
  createdAt: '2026-03-01T12:00:00.000Z',
  updatedAt: '2026-03-01T12:00:00.000Z',
};

const activation = (status: ServiceActivation['status']): ServiceActivation => ({
  activationId: 'a-1',
  organizationId: 'o-2',
  serviceId: 's-1',
  release: 1,
  level: 'Organization',
  entityId: 'o-2',
  status,
  includesExisting: true,
  parameters: {},
  requestedAt: service.createdAt,
  createdAt: service.createdAt,
  updatedAt: service.createdAt,
});

describe('a form from a schema', () => {
  const schema = {
    type: 'object',
    properties: {
      note: { type: 'string' },
      apiKey: { type: 'string', writeOnly: true },
      pointsPerUnit: { type: 'integer' },
      colour: { type: 'string', enum: ['red', 'green'], title: 'Colour of the card' },
      isOn: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      limits: { type: 'object', properties: { most: { type: 'number' } } },
      rules: { type: 'array', items: { type: 'object' } },
    },
    required: ['apiKey'],
  };

  test('each property has a fitting input, required ones first', () => {
    assert.deepEqual(
      schemaFields(schema).map(({ name, kind, isRequired }) => [name, kind, isRequired]),
      [
        ['apiKey', 'secret', true],
        ['note', 'text', false],
        ['pointsPerUnit', 'number', false],
        ['colour', 'choice', false],
        ['isOn', 'switch', false],
        ['tags', 'texts', false],
        ['limits', 'group', false],
        ['rules', 'json', false],
      ],
    );
    assert.deepEqual(schemaFields(undefined), []);
    assert.deepEqual(schemaFields({ type: 'object', properties: 'none' }), []);
    assert.equal(fieldKindOf({}), 'json', 'whatever else comes can be typed all the same');
  });

  test('a label is the schema title, or words from the property name', () => {
    assert.equal(fieldLabel('colour', schema.properties.colour), 'Colour of the card');
    assert.equal(fieldLabel('pointsPerUnit', {}), 'Points per unit');
    assert.equal(fieldLabel('merchant_id', { title: '' }), 'Merchant id');
  });

  test('an empty value is removed, and other values are kept', () => {
    const values = withFieldValue({ a: 1, b: 2 }, 'b', '');
    assert.deepEqual(values, { a: 1 });
    assert.deepEqual(withFieldValue(values, 'c', []), { a: 1 });
    assert.deepEqual(withFieldValue(values, 'c', {}), { a: 1 });
    assert.deepEqual(withFieldValue(values, 'c', false), { a: 1, c: false });
    assert.deepEqual(withFieldValue(values, 'a', 0), { a: 0 });
  });
});

describe('the status of a service', () => {
  const offers = {
    packages: [
      {
        packageId: 'p-1',
        organizationId: 'o-2',
        name: 'P',
        serviceIds: ['s-1'],
        status: 'Enabled' as const,
        createdAt: service.createdAt,
        updatedAt: service.updatedAt,
      },
    ],
    subscriptions: [
      {
        subscriptionId: 'x',
        organizationId: 'o-2',
        packageId: 'p-1',
        createdAt: service.createdAt,
      },
    ],
  };

  test('only subscribed packages count', () => {
    assert.deepEqual([...subscribedServiceIds(offers)], ['s-1']);
    assert.deepEqual([...subscribedServiceIds({ ...offers, subscriptions: [] })], []);
  });

  test('an activation wins over a subscription, and an inactive one is ignored', () => {
    const subscribed = subscribedServiceIds(offers);
    const noServices = new Set<string>();
    assert.equal(serviceStatus(service, [activation('Active')], subscribed), 'Active');
    assert.equal(serviceStatus(service, [activation('Refused')], subscribed), 'Refused');
    assert.equal(serviceStatus(service, [activation('Inactive')], subscribed), 'Subscribed');
    assert.equal(serviceStatus(service, [], noServices), 'Available');
    assert.equal(serviceStatus({ ...service, status: 'Retired' }, [], noServices), 'Retired');
    assert.equal(serviceStatus({ ...service, status: 'Draft' }, [], noServices), 'Draft');
    const other = { ...activation('Active'), serviceId: 's-2' };
    assert.equal(serviceStatus(service, [other], noServices), 'Available');
  });
});

test('a service that a merchant can use is active at any level', () => {
  const merchant = { level: 'Merchant' as const, entityId: 'm-1', name: 'M' };
  assert.equal(serviceStatusForMerchant({ ...merchant, active: true, usable: true }), 'Active');
  assert.equal(serviceStatusForMerchant({ ...merchant, active: true, usable: false }), 'Available');
  const requested = { ...merchant, active: false, usable: false };
  assert.equal(serviceStatusForMerchant({ ...requested, status: 'Refused' }), 'Refused');
  assert.equal(serviceStatusForMerchant({ ...requested, status: 'Inactive' }), 'Available');
  assert.equal(serviceStatusForMerchant(undefined), 'Available');
});

describe('a declaration', () => {
  const sentFor = (before: Service) => requestBody(serviceFields, formDraft(serviceFields, before));

  test('an unchanged declaration is sent unchanged', () => {
    const { name, domain, methods, paymentTypes, events } = service;
    assert.deepEqual(sentFor(service), {
      name,
      domain,
      methods,
      paymentTypes,
      events,
    });
    const whole = { ...service, description: 'D', spiUrl: 'https://x.example', ...jsonExamples };
    assert.deepEqual(sentFor(whole), {
      name,
      domain,
      methods,
      paymentTypes,
      events,
      description: 'D',
      spiUrl: 'https://x.example',
      ...jsonExamples,
    });
  });

  test('text that is not a JSON object is reported and not sent', () => {
    const empty = formDraft(serviceFields, undefined);
    const valid = { ...empty, name: ' N ', domain: 'D' };
    assert.equal(isComplete(serviceFields, valid), true);
    for (const name of ['activationParameters', 'defaults']) {
      const draft = { ...valid, [name]: name === 'defaults' ? '{' : '[1]' };
      assert.equal(isComplete(serviceFields, draft), false, name);
      const body = requestBody(serviceFields, draft);
      assert.deepEqual(Object.keys(body).sort(), [
        'domain',
        'events',
        'methods',
        'name',
        'paymentTypes',
      ]);
      assert.equal(body['name'], 'N');
    }
    assert.deepEqual(parseJsonObject('{"a":1}'), { a: 1 });
  });

  test('a logo with an unknown type or above the size limit is rejected', async () => {
    const bytes = new Uint8Array([137, 80, 78, 71]);
    const picture = new File([bytes], 'a.png', { type: 'image/png' });
    assert.deepEqual(await readLogo(picture), { mediaType: 'image/png', data: 'iVBORw==' });
    assert.equal(
      await readLogo(new File(['<svg/>'], 'a.svg', { type: 'image/svg+xml' })),
      undefined,
    );
    const big = new File([new Uint8Array(maxLogoBytes + 1)], 'b.png', { type: 'image/png' });
    assert.equal(await readLogo(big), undefined);
  });
});

describe('the tour', () => {
  const stepsOf = (group: GroupName, entry: 'portal' | 'provider-portal') =>
    tourStepsFor(
      screens,
      { permissions: [...groupPermissions[group]], environment: 'demo' },
      entry,
    ).map(({ to }) => to);

  test('the tour shows only screens that the user may open', () => {
    assert.ok(stepsOf('org_admin', 'portal').includes('/services'));
    assert.ok(!stepsOf('org_admin', 'portal').includes('/virtual-terminal'));
    assert.ok(stepsOf('merchant_manager', 'portal').includes('/virtual-terminal'));
    assert.ok(stepsOf('org_admin', 'provider-portal').includes('/own-services'));
    for (const group of Object.keys(groupPermissions) as GroupName[]) {
      assert.equal(stepsOf(group, 'portal')[0], '/', group);
    }
  });

  test('the tour continues at the stored step, and ignores invalid stored text', () => {
    assert.deepEqual(readTour(null), { is: 'new' });
    assert.deepEqual(readTour('3'), { is: 'running', at: 3 });
    for (const text of ['over', '-1', '1.5', 'NaN', '', '1e9', '<script>']) {
      assert.deepEqual(readTour(text), { is: 'over' }, text);
    }
  });
});

test('the chart contains full hours, also those without calls', () => {
  const calls: ServiceCalls = {
    serviceId: 's-1',
    status: 'Up',
    from: '2026-03-01T12:30:00.000Z',
    to: '2026-03-02T12:30:00.000Z',
    calls: [],
    hours: [
      { at: '2026-03-02T11:00:00.000Z', answered: 3, failed: 1 },
      { at: '2026-02-01T11:00:00.000Z', answered: 9, failed: 9 },
    ],
  };
  const hours = callsByHour(calls);
  assert.equal(hours.length, 24);
  assert.equal(new Date(hours.at(-1)?.at ?? 0).toISOString(), '2026-03-02T12:00:00.000Z');
  assert.deepEqual(
    hours.map(({ answered, failed }) => answered + failed).filter((sum) => sum > 0),
    [4],
  );
});
