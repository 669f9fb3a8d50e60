/** The form screens of the estate, one for each entity kind. */
import { createElement } from 'react';
import type { Screen } from '../../app/screen.ts';
import type { EstateKind } from './entity-kinds.ts';

const formScreen =
  (page: 'NewEntity' | 'EditEntity') =>
  (kind: EstateKind): Screen['load'] =>
  async () => {
    const { [page]: Page } = await import('./entity-forms.tsx');
    return { default: () => createElement(Page, { kind }) };
  };

export const newEntity = formScreen('NewEntity');
export const editEntity = formScreen('EditEntity');
