/** Events of messages that the Retail API sent to terminals. */
import { Type } from 'typebox';
import { identifier } from '../schemas/values-and-problems/resource-schemas.ts';
import { type EventDefinition, eventData, exampleIds, storeMembers } from './event-definition.ts';

const data = eventData({
  ...storeMembers,
  messageId: identifier('The message.'),
  saleId: Type.String({ description: 'The SaleID of its header.' }),
  serviceId: Type.String({ description: 'The ServiceID of its header.' }),
  category: Type.String({ description: 'The MessageCategory of its header.' }),
  status: Type.String({ examples: ['Answered', 'Failed'] }),
  result: Type.Optional(Type.String({ examples: ['Success', 'Partial', 'Failure'] })),
  errorCondition: Type.Optional(Type.String()),
  fault: Type.Optional(Type.String({ description: 'The code with which it failed.' })),
});

/** The events of messages to terminals. */
export const retailEvents: readonly EventDefinition[] = [
  {
    type: 'retail.response',
    description:
      'A message that was sent without waiting has its end: the whole answer is fetched by its ServiceID.',
    data,
    example: {
      ...exampleIds,
      messageId: '019823f9-88bb-75ec-8abb-d3a4b7a8e6cc',
      saleId: 'till-3',
      serviceId: '4711',
      category: 'Payment',
      status: 'Answered',
      result: 'Success',
      sequence: 1,
    },
  },
];
