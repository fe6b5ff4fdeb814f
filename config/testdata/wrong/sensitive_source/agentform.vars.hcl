token = "swordfish"
