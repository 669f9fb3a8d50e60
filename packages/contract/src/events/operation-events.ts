/** Events of batches, and of the endpoints that receive events. */
import { Type } from 'typebox';
import { identifier } from '../schemas/values-and-problems/resource-schemas.ts';
import { SumAmount, Timestamp } from '../schemas/values-and-problems/value-schemas.ts';
import { type EventDefinition, eventData, exampleIds } from './event-definition.ts';

const count = Type.Integer({ minimum: 0 });

const batch = eventData({
  storeId: Type.Optional(identifier('The store, where it is of one.')),
  batchId: identifier('The batch.'),
  clientOperationId: Type.Optional(Type.String()),
  total: count,
  succeeded: count,
  failed: count,
  filed: Type.Integer({
    minimum: 0,
    description: 'Lines of a clearing file, still to be answered.',
  }),
});

const clearing = eventData({
  fileId: identifier('The file.'),
  acquirerLinkId: identifier('The link to the acquirer.'),
  number: Type.Integer({ minimum: 1, description: 'Counts the files of the link.' }),
  lineCount: count,
  amounts: Type.Record(Type.String(), SumAmount, {
    description: 'The sum of its captures by currency, in minor units, as a text.',
  }),
  accepted: count,
  rejected: count,
  reason: Type.Optional(Type.String({ description: 'Why the whole file was refused.' })),
});

const file = {
  organizationId: exampleIds.organizationId,
  fileId: '019823f9-66ff-73ca-8e99-b182f5e6c4aa',
  acquirerLinkId: '019823f9-77aa-74db-9faa-c293a6f7d5bb',
  number: 7,
  lineCount: 120,
  amounts: { EUR: '184500' },
  accepted: 0,
  rejected: 0,
};

const endpoint = eventData({
  endpointId: identifier('The endpoint.'),
  url: Type.String({ format: 'uri', description: 'Without query and credentials.' }),
  reason: Type.String({ examples: ['Gone', 'NoSuccess'] }),
  lastSuccessAt: Type.Optional(Timestamp),
});

const test = eventData({
  endpointId: Type.Optional(identifier('The endpoint.')),
  message: Type.Optional(Type.String()),
});

/** The events of batches, endpoints and tests. */
export const operationEvents: readonly EventDefinition[] = [
  {
    type: 'batch.completed',
    description: 'A capture of many transactions has an answer for each of them.',
    data: batch,
    example: {
      organizationId: exampleIds.organizationId,
      merchantId: exampleIds.merchantId,
      batchId: '019823f7-44dd-71a8-8c77-9f60d3c4a288',
      clientOperationId: 'evening-2026-03-01',
      total: 120,
      succeeded: 118,
      failed: 2,
      filed: 0,
      sequence: 1,
    },
  },
  {
    type: 'clearing.file_made',
    description: 'A file of captures was made and can be sent to the acquirer.',
    data: clearing,
    example: { ...file, sequence: 1 },
  },
  {
    type: 'clearing.file_acknowledged',
    description: 'The acquirer took the file; its captures are being settled, line by line.',
    data: clearing,
    example: { ...file, accepted: 118, rejected: 2, sequence: 2 },
  },
  {
    type: 'clearing.file_rejected',
    description: 'The acquirer refused the whole file; its captures go into the next one.',
    data: clearing,
    example: { ...file, rejected: 120, reason: 'Totals differ', sequence: 2 },
  },
  {
    type: 'clearing.file_settled',
    description: 'Each capture of the file has its outcome.',
    data: clearing,
    example: { ...file, accepted: 118, rejected: 2, sequence: 3 },
  },
  {
    type: 'endpoint.disabled',
    description: 'Nothing is sent to an endpoint any more: it was gone, or failed for days.',
    data: endpoint,
    example: {
      organizationId: exampleIds.organizationId,
      endpointId: '019823f8-55ee-72b9-9d88-a071e4d5b399',
      url: 'https://hooks.example/switchyard',
      reason: 'Gone',
      sequence: 1,
    },
  },
  {
    type: 'endpoint.test',
    description: 'A user requested a test of an endpoint; the event reports no change.',
    data: test,
    example: {
      organizationId: exampleIds.organizationId,
      endpointId: '019823f8-55ee-72b9-9d88-a071e4d5b399',
      message: 'A test event.',
      sequence: 1,
    },
  },
];
