/** A menu of actions behind one button. */
import { Button, Menu } from '@mantine/core';
import { Icon } from './icon.tsx';

export type ActionMenuProps<Verb extends string> = {
  /** The text of the button. */
  readonly label: string;
  readonly actions: readonly Verb[];
  readonly textOf: (verb: Verb) => string;
  readonly onChoose: (verb: Verb) => void;
};

export function ActionMenu<Verb extends string>(props: ActionMenuProps<Verb>) {
  const { label, actions, textOf, onChoose } = props;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" rightSection={<Icon name="chevronDown" size={14} />}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map((action) => (
          <Menu.Item key={action} onClick={() => onChoose(action)}>
            {textOf(action)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
