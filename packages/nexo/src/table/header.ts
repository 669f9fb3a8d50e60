/** Structures of the envelope: header, reference, response. */
import type { StructureDefinitions } from './structure-definition.ts';

export const headerRows = {
  MessageHeader: {
    ProtocolVersion: 'Version?',
    MessageClass: 'MessageClass',
    MessageCategory: 'MessageCategory',
    MessageType: 'MessageType',
    ServiceID: 'PairId?',
    DeviceID: 'PairId?',
    SaleID: 'SystemId',
    POIID: 'SystemId',
  },
  MessageReference: {
    MessageCategory: 'MessageCategory?',
    ServiceID: 'PairId?',
    DeviceID: 'PairId?',
    SaleID: 'SystemId?',
    POIID: 'SystemId?',
  },
  Response: {
    Result: 'Result',
    ErrorCondition: 'ErrorCondition?',
    AdditionalResponse: 'Text?',
  },
  TransactionIdentification: { TransactionID: 'Text', TimeStamp: 'DateTime' },
} as const satisfies StructureDefinitions;
