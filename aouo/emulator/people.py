"""People and the bot, and their membership in a chat."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from aouo.emulator.jsons import JsonObject

Status: TypeAlias = Literal["creator", "administrator", "member", "restricted", "left", "kicked"]

_RIGHTS = [
    *("can_manage_chat", "can_delete_messages", "can_manage_video_chats", "can_restrict_members"),
    *("can_promote_members", "can_change_info", "can_invite_users", "can_post_stories"),
    *("can_edit_stories", "can_delete_stories", "can_pin_messages"),
]
_PERMISSIONS = [
    *("can_send_messages", "can_send_audios", "can_send_documents", "can_send_photos"),
    *("can_send_videos", "can_send_video_notes", "can_send_voice_notes", "can_send_polls"),
    *("can_send_other_messages", "can_add_web_page_previews", "can_react_to_messages"),
    *("can_edit_tag", "can_change_info", "can_invite_users", "can_pin_messages"),
    "can_manage_topics",
]


@dataclass(frozen=True, slots=True)
class Person:
    """A person, or the bot itself."""

    id: int
    first_name: str
    last_name: str = ""
    username: str = ""
    language_code: str = "en"
    is_bot: bool = False

    def as_json(self) -> JsonObject:
        item: JsonObject = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        if self.last_name:
            item["last_name"] = self.last_name
        if self.username:
            item["username"] = self.username
        if not self.is_bot:
            item["language_code"] = self.language_code
        return item


@dataclass(frozen=True, slots=True)
class Membership:
    """A person's status in a chat; `manages_topics` counts for administrators only."""

    status: Status
    manages_topics: bool = True

    @property
    def present(self) -> bool:
        return self.status in ("creator", "administrator", "member", "restricted")

    @property
    def privileged(self) -> bool:
        return self.status in ("creator", "administrator")

    def as_json(self, person: Person) -> JsonObject:
        item: JsonObject = {"status": self.status, "user": person.as_json()}
        match self.status:
            case "creator":
                item["is_anonymous"] = False
            case "administrator":
                item |= {"can_be_edited": False, "is_anonymous": False}
                item |= dict.fromkeys(_RIGHTS, True)
                item["can_manage_topics"] = self.manages_topics
            case "restricted":  # muted
                item |= {"is_member": True, "until_date": 0}
                item |= dict.fromkeys(_PERMISSIONS, False)
            case "kicked":
                item["until_date"] = 0
            case "member" | "left":
                pass
        return item
