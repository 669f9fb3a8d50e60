/** Messages about a service, sent to the address that the service declares. */
import { type Static, Type } from 'typebox';
import { messageSchema, moment, uuid } from './value-schemas.ts';

/**
 * `POST` to the `spiUrl` of a service: an administrator activates or deactivates it. The body has
 * the form of Standard Webhooks.
 *
 * @example
 * if (message.type === 'service.activation_requested') accept(message.data.handshakeId);
 */
export const ServiceMessage = messageSchema(
  {
    type: Type.Enum(['service.activation_requested', 'service.deactivated'], {
      type: 'string',
      description: 'The message type. For a deactivation, any response is accepted.',
    }),
    timestamp: moment('The time of the request.'),
    data: messageSchema(
      {
        handshakeId: uuid('Names this question; a repetition has the same one.'),
        organizationId: uuid('The acquirer that activates the service.'),
        activationId: uuid('The activation.'),
        serviceId: uuid('The service.'),
        release: Type.Integer({ minimum: 1, description: 'The release of the service.' }),
        level: Type.Enum(['Organization', 'Merchant', 'Store', 'LogicalDevice'], {
          type: 'string',
          description: 'The entity for which the service is activated.',
        }),
        entityId: uuid('The organisation, merchant, store or place of a device.'),
        merchantId: Type.Optional(uuid('The merchant, below the organisation.')),
        storeId: Type.Optional(uuid('The store, below the merchant.')),
        parameters: Type.Record(Type.String(), Type.Unknown(), {
          description:
            'The values that the administrator entered for the activation parameters of the service.',
        }),
        answerUrl: Type.String({
          maxLength: 2000,
          description: 'Where a later answer goes, with a token of the provider.',
        }),
      },
      'The activation.',
    ),
  },
  'A service is activated, or no more.',
);
export type ServiceMessage = Static<typeof ServiceMessage>;

/**
 * Whether an activation is accepted.
 *
 * @example
 * const answer: ServiceMessageAnswer = { status: 'Accepted', parameters: { account: 'M-17' } };
 */
export const ServiceMessageAnswer = messageSchema(
  {
    status: Type.Enum(['Accepted', 'Refused'], { type: 'string', description: 'The answer.' }),
    reason: Type.Optional(Type.String({ maxLength: 500, description: 'Why it is refused.' })),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Parameters that the provider adds to the activation.',
      }),
    ),
  },
  'Whether an activation is accepted.',
);
export type ServiceMessageAnswer = Static<typeof ServiceMessageAnswer>;
