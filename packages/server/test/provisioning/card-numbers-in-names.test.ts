// No name, label or description of the API holds a card number.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { assertProblem, textWithoutRequestId } from '../support/assert-problem-response.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

const card = '4111 1111 1111 1111';
const compact = card.replaceAll(' ', '');

describe('a card number', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  // Spec: PROV-25
  test('is refused in the names of users, applications, services, packages, webhooks and organisations', async () => {
    const { realm, organizationId, acquirerToken: token } = setup;
    const user = {
      username: 'ann',
      entityId: organizationId,
      scope: organizationId,
      email: 'ann@shop.example',
    };
    const users = `/user-management/v2/user-domains/${realm}/users`;
    const application = { name: 'Till', securityFlows: ['ClientCredentials'] };
    const applications = `/application-management/v1/user-domains/${realm}/applications`;
    const service = { name: 'Loyalty', domain: 'Loyalty' };
    const offer = { name: 'Offer', serviceIds: [organizationId] };
    const endpoint = { url: 'https://hooks.example/', eventTypes: ['*'] };
    const organization = { name: 'Below', userDomainId: 'below' };
    const signUp = {
      organizationName: 'Acquirer',
      persona: 'Acquirer',
      email: 'ann@shop.example',
      givenName: 'Ann',
      familyName: 'Carter',
      country: 'FR',
    };
    for (const [path, body, member, text] of [
      [users, user, 'username', compact],
      [users, user, 'givenName', `Ann ${card}`],
      [users, user, 'familyName', `Ann ${card}`],
      [applications, application, 'name', card],
      [applications, application, 'description', `for ${compact}`],
      ['/service-catalog/v1/services', service, 'name', card],
      ['/service-catalog/v1/services', service, 'description', compact],
      ['/service-catalog/v1/packages', offer, 'name', card.replaceAll(' ', '-')],
      ['/service-catalog/v1/packages', offer, 'description', card],
      ['/webhooks/v1/endpoints', endpoint, 'description', card],
      ['/provisioning/v2/organizations', organization, 'name', card],
      ['/onboarding/v1/sign-ups', signUp, 'organizationName', card],
    ] as const) {
      const answer = await setup.client.call('POST', path, {
        token,
        body: { ...body, [member]: text },
      });
      assertProblem(answer, { code: 'field_invalid', pointer: `/${member}` }, `${path} ${member}`);
      assert.doesNotMatch(textWithoutRequestId(answer), /1111/);
    }
  });
});
