/** Events of devices that connect to the Cloud Connector or disconnect. */
import { Type } from 'typebox';
import { identifier } from '../schemas/values-and-problems/resource-schemas.ts';
import { Timestamp } from '../schemas/values-and-problems/value-schemas.ts';
import { type EventDefinition, eventData, exampleIds, storeMembers } from './event-definition.ts';

const data = eventData({
  ...storeMembers,
  physicalDeviceId: identifier('The hardware.'),
  tsn: Type.String({ description: 'Its make, model and serial number.' }),
  since: Type.Optional({ ...Timestamp, description: 'The time of the last status change.' }),
});

const example = {
  ...exampleIds,
  physicalDeviceId: '019823f0-5d2c-7e75-8f44-6c3d0a917f55',
  tsn: 'AXIUM_DX8000-12345678',
  since: '2026-03-01T12:30:00.000Z',
};

/** The events of devices at the Cloud Connector. */
export const devicePresenceEvents: readonly EventDefinition[] = [
  {
    type: 'device.online',
    description:
      'A device has been connected to the Cloud Connector for ten seconds. A device with an unstable connection causes at most one event a minute, with its status at that time.',
    data,
    example: { ...example, sequence: 1 },
  },
  {
    type: 'device.offline',
    description:
      'A device has not been connected to the Cloud Connector for ten seconds, or its node has died.',
    data,
    example: { ...example, since: '2026-03-01T18:05:00.000Z', sequence: 2 },
  },
];
