/** Events of organisations, devices, users and services, derived from the audit records. */
import { Type } from 'typebox';
import { actorKind } from '../schemas/platform/audit.ts';
import { type EventDefinition, eventData, exampleIds } from './event-definition.ts';

/** The meaning of each event, by the action of its audit record. */
const meanings = {
  'organization.created': 'An organisation below this one was created, or this one was created.',
  'organization.updated': 'The organisation was changed.',
  'organization.removed': 'The organisation was removed.',
  'merchant.created': 'A merchant was created.',
  'merchant.updated': 'A merchant was changed, its status included.',
  'merchant.removed': 'A merchant was removed.',
  'store.created': 'A store was created.',
  'store.updated': 'A store was changed, its status included.',
  'store.removed': 'A store was removed.',
  'logicalDevice.created': 'A logical device was created: a position for a terminal in a store.',
  'logicalDevice.updated': 'A logical device was changed.',
  'logicalDevice.linked': 'The terminals of a logical device changed.',
  'logicalDevice.removed': 'A logical device was removed.',
  'physicalDevice.created': 'A terminal was registered.',
  'physicalDevice.updated': 'A terminal was changed.',
  'physicalDevice.removed': 'A terminal was removed.',
  'pointOfSale.created': 'A point of sale was created.',
  'pointOfSale.updated': 'A point of sale was changed.',
  'pointOfSale.removed': 'A point of sale was removed.',
  'acquirerContract.created': 'A merchant got a contract with an acquirer.',
  'acquirerContract.updated': 'A contract with an acquirer was changed.',
  'acquirerContract.removed': 'A contract with an acquirer was removed.',
  'acquirerLink.created': 'A link to an acquirer was created.',
  'acquirerLink.updated': 'A link to an acquirer was changed.',
  'acquirerLink.removed': 'A link to an acquirer was removed.',
  'deviceCertificate.issued': 'A terminal got a certificate.',
  'deviceCertificate.revoked': 'A certificate of a terminal was revoked.',
  'user.created': 'A user was created and received an activation link.',
  'user.updated': 'A user was changed.',
  'user.activated': 'A user can sign in again.',
  'user.deactivated': 'A user can no longer sign in; the sessions of the user have ended.',
  'user.secondFactorReset': 'The second factor of a user was reset.',
  'application.created': 'An application was registered.',
  'application.updated': 'An application was changed.',
  'application.approved': 'An application that waited for approval was approved.',
  'application.removed': 'An application was removed.',
  'application.secretRenewed':
    'The secret of an application was renewed; the old one is no longer valid.',
  'service.declared': 'A service was declared.',
  'service.updated': 'The draft of a service was changed.',
  'service.published': 'A release of a service was published.',
  'service.retired': 'A service can no longer be activated; existing activations stay active.',
  'service.deleted': 'A service was deleted.',
  'service.secret_renewed': 'The signing secret of a service was renewed.',
  'package.created': 'A package of services was created.',
  'package.updated': 'A package of services was changed.',
  'package.deleted': 'A package of services was deleted.',
  'subscription.created': 'The organisation subscribed to a package.',
  'subscription.deleted': 'A subscription has ended.',
  'activation.requested': 'A user requested the activation of a service at a level.',
  'activation.postponed': 'The provider decides later on an activation.',
  'activation.accepted': 'A service is active at a level.',
  'activation.refused': 'The provider refused an activation.',
  'activation.deactivated': 'A service is not active any more at a level.',
  'configuration.updated': 'The configuration of a service was changed at a level.',
  'configuration.removed': 'The configuration of a service at a level was removed.',
  'configuration.restored': 'An earlier configuration of a service is in force again.',
  'approvalCode.created': 'An approval code for refunds and cancels was created.',
  'approvalCode.revoked': 'An approval code was revoked.',
};

const snakeCase = (words: string) =>
  words.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * The event types by the action of their audit record: `logicalDevice.created` is published as
 * `logical_device.created`. An action that is not in this map is not published.
 *
 * @example
 * const type = publishedActions.get('user.deactivated');
 */
export const publishedActions: ReadonlyMap<string, string> = new Map(
  Object.keys(meanings).map((action) => [action, snakeCase(action)]),
);

const data = eventData({
  entity: Type.Object(
    { type: Type.String(), id: Type.String() },
    { description: 'The entity of the change.' },
  ),
  changed: Type.Optional(
    Type.Array(Type.String(), {
      description: 'The names of the changed fields, without their values.',
    }),
  ),
  actor: Type.Object(
    { kind: actorKind, subject: Type.String() },
    { description: 'The user or application that made the change.' },
  ),
  requestId: Type.Optional(Type.String()),
});

const exampleOf = (action: string) => ({
  organizationId: exampleIds.organizationId,
  merchantId: exampleIds.merchantId,
  entity: { type: action.split('.')[0] ?? '', id: '019823f6-33cc-7097-9b66-8e5fc2b39177' },
  ...(action.endsWith('.updated') ? { changed: ['name', 'status'] } : {}),
  actor: { kind: 'User', subject: '7a1c9d58-6d0f-4c53-9b0e-0f6f2b8d6b1e' },
  requestId: 'req-1',
  sequence: 42,
});

/** The published events of organisations, devices, users and services. */
export const estateEvents: readonly EventDefinition[] = Object.entries(meanings).map(
  ([action, description]) => ({
    type: snakeCase(action),
    description,
    data,
    example: exampleOf(action),
  }),
);
