// The example message of the API documentation: a payment of 12.50 EUR.
export const exampleMessage = JSON.stringify({
  SaleToPOIRequest: {
    MessageHeader: {
      ProtocolVersion: '3.0',
      MessageClass: 'Service',
      MessageCategory: 'Payment',
      MessageType: 'Request',
      ServiceID: '4711',
      SaleID: 'till-3',
      POIID: 'AXIUM_DX8000-12345678',
    },
    PaymentRequest: {
      SaleData: {
        SaleTransactionID: { TransactionID: 'order-1', TimeStamp: '2026-03-01T12:30:00.000Z' },
      },
      PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 12.5 } },
    },
  },
});
